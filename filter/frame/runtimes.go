package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames of runtimes and libraries that print where in a module, or in memory, a frame is.

// readNativeAOT reads a frame of .NET's NativeAOT without the names of methods; `!<BaseAddress>` stands at line[mark]:
//
//	at MyApp!<BaseAddress>+0xa532c
//
// (StackFrame.NativeAot.cs in dotnet/runtime.) The offset counts from where the module begins.
func readNativeAOT(s *Search, line []byte, mark, from int, f *Frame) bool {
	const word = "!<BaseAddress>+"
	off, e, ok := scan.Address(line, mark+len(word))
	mod := span(scan.BackToken(line, max(from, mark-maxModule), mark), mark)
	s.spend(mod.End - mod.Start)
	start := mod.Start - len("at ")
	if !ok || mod.Empty() || start < from || !scan.Has(line, start, "at ") || !scan.WordStart(line, from, start) {
		return false
	}
	*f = Frame{Whole: span(start, e), Module: mod, Off: span(mark+len(word), e), Offset: off, Space: symsrc.InImage, Run: Adjacent}
	f.answer(s, line, e)
	return true
}

// readUserTrace reads a frame of a program in ftrace (userstacktrace); `[` stands at line[mark]:
//
//	=> /usr/lib/libx.so[+0x1130] <00007fa52731c130>
//
// The offset counts from where the mapping of the code begins (seq_print_user_ip in the kernel's kernel/trace/trace_output.c). The first
// address is where the program was, the others are return addresses.
func readUserTrace(s *Search, line []byte, mark, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, mark+len("[+"))
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	low := max(from, mark-maxModule)
	arrow := low + s.lastIndex(line[low:mark], arrowWord)
	mod := span(arrow+len(arrowWord), mark)
	if arrow < low || mod.Empty() || line[mod.Start] != '/' {
		return false
	}
	*f = Frame{Whole: span(mod.Start, e+1), Module: mod, Off: span(mark+len("[+"), e), Offset: off, Space: symsrc.InText, Convention: RawButFirst, Run: Adjacent}
	f.answer(s, line, f.Whole.End)
	return true
}

var arrowWord = []byte("=> ")

// readFortran reads a frame of Intel's Fortran without a routine; `Unknown  Unknown` stands at line[mark]:
//
//	Image              PC                Routine            Line        Source
//	a.out              0000000000403D5A  Unknown               Unknown  Unknown
//	libc-2.17.so       00002B5F1A7024D5  __libc_start_main     Unknown  Unknown
//
// The addresses are those of the process. The names of images are cut.
func readFortran(s *Search, line []byte, mark, from int, f *Frame) bool {
	const digits = len("0000000000403D5A")
	e := mark + len("Unknown  Unknown")
	if !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	routineEnd := scan.BackSpaces(line, from, mark)
	low := max(from, routineEnd-maxModule)
	gap := low + s.lastIndex(line[low:routineEnd], twoSpaces)
	routine := span(gap+len(twoSpaces), routineEnd)
	addr := span(gap-digits, gap)
	if gap < low || routine.Empty() || addr.Start <= from || !scan.IsHexField(addr.Of(line)) || line[addr.Start-1] != ' ' {
		return false
	}
	nameEnd := scan.BackSpaces(line, from, addr.Start)
	mod := span(scan.BackToken(line, from, nameEnd), nameEnd)
	v, _, ok := scan.Hex(line, addr.Start)
	if !ok || mod.Empty() || !scan.WordStart(line, from, mod.Start) || scan.BackSpaces(line, from, mod.Start) > s.begin {
		return false
	}
	*f = Frame{Whole: span(mod.Start, e), Module: mod, Addr: addr, Off: addr, Offset: v, Base: Absolute, Space: symsrc.Fixed, Convention: RawButFirst, Run: Adjacent}
	if string(routine.Of(line)) != "Unknown" {
		f.Hint = routine
	}
	f.answer(s, line, e)
	return true
}

var twoSpaces = []byte("  ")

// readMATLAB reads a frame of MATLAB's crash reports; `] 0x` stands at line[mark]:
//
//	[  0] 0x00007fe9d1f1a8c6   /usr/local/MATLAB/bin/glnxa64/libmwfl.so+00503070 _ZN2fl4diag15stacktrace_base7captureEv+00000158
//
// The offsets are decimal, that of the module counts from where it begins.
func readMATLAB(s *Search, line []byte, mark, from int, f *Frame) bool {
	num := span(scan.BackDigits(line, from, mark), mark)
	open := scan.BackSpaces(line, from, num.Start)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || num.Empty() || open == from || line[open-1] != '[' {
		return false
	}
	addr := span(mark+len("] "), 0)
	if _, addr.End, ok = scan.Address(line, addr.Start); !ok {
		return false
	}
	start := scan.Spaces(line, addr.End)
	limit := min(len(line), start+maxModule)
	if start == addr.End || start >= len(line) || line[start] != '/' {
		return false
	}
	end := start
	for end < limit && !scan.IsSpace(line[end]) && line[end] != '\r' {
		end++
	}
	s.spend(end - start)
	plus := start + bytes.LastIndexByte(line[start:end], '+')
	off, e, ok := scan.Decimal(line, max(start, plus)+1)
	if plus <= start || !ok || e != end || e-plus != len("+00503070") {
		return false
	}
	*f = Frame{Whole: span(open-1, end), Num: num, Number: n, Addr: addr, Module: span(start, plus), Off: span(plus+1, e), Offset: off,
		Space: symsrc.InImage, Convention: Raw}
	if rest := s.textEnd(line, end); rest > end && line[end] == ' ' {
		f.Whole.End = rest
		f.replace(s, line, end, rest)
		if i := bytes.LastIndexByte(f.Gap.Of(line), '+'); i > 1 {
			f.Hint = span(f.Gap.Start+1, f.Gap.Start+i)
		}
		return true
	}
	f.answer(s, line, end)
	return true
}

// readKotlin reads a frame of Kotlin/Native that says where the program begins; `0x` stands at line[at]:
//
//	at 0   test.kexe   0x0000000107505672 kfun:kotlin.Error.<init>()kotlin.Error + 50 [0x1074d7000]
func readKotlin(s *Search, line []byte, at, from int, f *Frame) bool {
	base, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) && !scan.Has(line, e+1, " in ") {
		return false
	}
	start := s.wordsBegin()
	if start < from || !scan.Has(line, start, "at ") {
		return false
	}
	num := span(start+len("at "), 0)
	n, end, ok := scan.Decimal(line, num.Start)
	num.End = end
	mod := span(scan.Spaces(line, end), 0)
	if !ok || mod.Start == end {
		return false
	}
	for mod.End = mod.Start; mod.End < at && !scan.IsSpace(line[mod.End]); {
		mod.End++
	}
	addr := span(scan.Spaces(line, mod.End), 0)
	v, end, ok := scan.Address(line, addr.Start)
	addr.End = end
	if !ok || mod.Empty() || addr.Start == mod.End || addr.End >= at-1 || line[addr.End] != ' ' || v < base {
		return false
	}
	*f = Frame{Whole: span(start, e+1), Num: num, Number: n, Module: mod, Addr: addr, Off: addr, Offset: v - base, Space: symsrc.InImage, Convention: Raw}
	f.Hint = span(addr.End+1, scan.BackSpaces(line, addr.End+1, at-1))
	f.answer(s, line, e+1)
	return true
}

// readApport reads a frame in the signature of a report of Ubuntu's apport; `:/` stands at line[at]:
//
//	StacktraceAddressSignature: /usr/bin/foo:11:/usr/lib/x86_64-linux-gnu/libc-2.31.so+4618b:/usr/bin/foo+12a4
//
// The offset counts from where the mapping of the code begins (_address_to_offset in its apport/report.py).
func readApport(s *Search, line []byte, at, from int, f *Frame) bool {
	end := at + 1
	for limit := min(len(line), at+maxModule); end < limit && line[end] != ':' && !scan.IsSpace(line[end]) && line[end] != '\r'; {
		end++
	}
	s.spend(end - at)
	plus := at + bytes.LastIndexByte(line[at:end], '+')
	off, e, ok := scan.Hex(line, max(at, plus)+1)
	if plus < at || !ok || e != end {
		return false
	}
	*f = Frame{Whole: span(at+1, e), Module: span(at+1, plus), Off: span(plus+1, e), Offset: off, Space: symsrc.InText, Convention: Either,
		Gap: span(e, e)}
	if scan.Has(line, e, " in ") {
		f.answer(s, line, e)
	}
	return true
}
