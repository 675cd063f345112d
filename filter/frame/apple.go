package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames of Darwin: of macOS, iOS and the other systems of Apple.
//
//	0   CoreFoundation   0x000000018fbd65ec CEB74A0C-5EA4-3F5A-9DE8-73F0DAD2F4CB + 972268   with the UUID of the image
//	10  YetAnotherMac    0x0000000108b7092b 0x10864e000 + 5384491                           where the image begins, and how far it is
//	2   libdispatch.dylib 0x00007fff8d7389ee _dispatch_mgr_thread + 54                      backtrace_symbols, callStackSymbols, reports
//	3   MyApp            0x1043dc (Missing UUID 64d2d4b8c2d6305b8fc7ed6ad1d5f5d8)           Crashlytics: an offset in the image
//	2  ??? (<2151A33A-068D-37FE-ACB5-02E0BB7DA9D8> + 264960) [0x103758b00] 1-11             spindump; the samples are in a time line only
//	+ 2443 ???  (in prog)  load address 0x100000000 + 0x3f60  [0x100003f60]                 sample
//	5   Crash-Tester     0x0000f6d9 0x8000 + 30425 (-[Crasher throwException] + 101)        KSCrash, side by side
//	4   Metal   0x00000001ce875d88 0x1ce7f9000 + 511368     	// MTLReportFailure         Cr4shed, libsymbolicate; or with + 0x7cd88
//	BeeHiveDemo                     0x103548a1a bs_mach_copyMem + 58                        BSBacktraceLogger, DoKit
//	(0x18e27ad8c 0x18d4345ec 0x104f8c40f)                                                   the stack of an exception
//
// backtrace_symbols writes "%-4d%-35s 0x%0*lx %s + %lu" (Libc's gen/backtrace.c), reports have a tab after the name. Images below the
// stacks say which file each is: a report is read to there. A frame names an image by its name or its bundle's, which may have spaces.

// darwinEnd is the end of the addresses at which Darwin loads programs and their libraries outside of its shared cache. Linux has
// programs of fixed addresses below darwinStart, and all else above darwinEnd.
const (
	darwinStart = 1 << 32
	darwinEnd   = 1 << 40
)

var (
	plusWord    = []byte(" + ")
	missingUUID = []byte(" (Missing UUID ")
	parenWord   = []byte(" (")
	commentWord = "// "
	inImageWord = []byte("  (in ")
	loadWord    = []byte("load address 0x")
	noName      = []byte("???")
	dylibSuffix = []byte(".dylib")
	soSuffix    = []byte(".so")
	bundleStart = []byte("com.apple.")
)

// readApple reads a frame of a report, or of backtrace_symbols; `0x` stands at line[at].
func readApple(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ' ' {
		return false
	}
	num := span(s.wordsBegin(), 0)
	begin := num.Start
	n, numEnd, ok := scan.Decimal(line, begin)
	num.End = numEnd
	mod := span(scan.Spaces(line, numEnd), scan.BackSpaces(line, from, at))
	convention := Darwin
	if !ok {
		num, mod.Start, convention = Span{}, begin, Either
		ok = mod.Start < mod.End && mod.End <= begin+threadWidth && at == begin+threadWidth+2 && darwinName(mod.Of(line), addr)
	}
	if !ok || begin < from || !num.Empty() && mod.Start == numEnd || mod.Empty() || mod.Start > mod.End || mod.End == at || mod.End-mod.Start > maxAppleName {
		return false
	}
	limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
	rest := line[e:limit]
	*f = Frame{Whole: span(begin, limit), Num: num, Number: n, Addr: span(at, e), Module: mod, Space: symsrc.InImage, Arch: symsrc.AnyArch,
		Convention: convention, Gap: span(e, limit)}
	if i := bytes.Index(rest, missingUUID); i == 0 {
		id := span(e+len(missingUUID), limit-1)
		if line[limit-1] != ')' || !isUUID(id.Of(line)) {
			return false
		}
		f.Addr, f.Off, f.Offset, f.BuildID, f.Arch = Span{}, span(at, e), addr, id, ""
		return true
	}
	// The answer of this filter stands in place of the name: ` in f /src/f.c:1`.
	if bytes.HasPrefix(rest, inWord) {
		return false
	}
	if base, baseEnd, ok := scan.Address(line, e+1); ok && scan.Has(line, baseEnd, " + ") {
		off := span(baseEnd+len(plusWord), 0)
		if f.Offset, off.End, ok = scan.Address(line, off.Start); !ok {
			f.Offset, off.End, ok = scan.Decimal(line, off.Start)
		}
		f.Off, f.Later = off, true
		if !ok || off.End > limit {
			return false
		}
		if named := scan.Spaces(line, off.End); named < limit { // what the emitter takes for the name
			switch {
			case scan.Has(line, named, commentWord):
				f.Hint = span(named+len(commentWord), limit)
			case bytes.HasPrefix(line[off.End:limit], parenWord) && line[limit-1] == ')':
				f.Hint = span(off.End+len(parenWord), limit-1)
			default:
				ok = false
			}
		}
		return ok && base > 0 && !bytes.Equal(mod.Of(line), noName) && isDistance(addr, base, f.Offset)
	}
	isDarwin := hasLayout(line, num, mod, at) || darwinName(mod.Of(line), addr)
	plus := s.lastIndex(rest, plusWord)
	if plus < 1 {
		f.Done = s.endsWithLine(rest)
		return f.Done && isDarwin
	}
	off := span(e+plus+len(plusWord), 0)
	v, end, ok := scan.Decimal(line, off.Start)
	if off.End = end; !ok {
		return false
	}
	if end < limit {
		f.Done = s.endsWithLine(line[end:limit])
		return f.Done && isDarwin
	}
	f.Off, f.Offset, f.Later = off, v, true
	name := span(scan.Spaces(line, e), e+plus)
	if name.Start >= name.End {
		return false
	}
	if isUUID(name.Of(line)) {
		f.BuildID, f.Later, f.Arch = name, false, ""
		return true
	}
	if !isDarwin || bytes.Equal(mod.Of(line), noName) {
		return false
	}
	f.Symbol, f.Base, f.Space = name, FromSymbol, symsrc.Linked
	return true
}

// readAppleList reads a return address of the stack of an exception, all of which stand on one line; `0x` stands at line[at]. Reports have it
// below `Last Exception Backtrace:`, and the console below `*** First throw call stack:`.
func readAppleList(s *Search, line []byte, at, _ int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || addr < darwinPage || at == 0 || e >= len(line) || line[e] != ' ' && line[e] != ')' || scan.Has(line, e, " [") { // as OpenJ9 has it
		return false
	}
	ok = s.inException(line, at) && line[s.textEnd(line[:min(len(line), e+maxModule)], e)-1] == ')'
	if s.exception.at, s.exception.is = at, ok; !ok {
		return false
	}
	*f = Frame{Whole: span(at, e), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Raw, Later: true}
	f.answer(s, line, e)
	return true
}

// inException reports whether before an address only others of the stack of an exception stand. What was found of the last one is known.
func (s *Search) inException(line []byte, at int) bool {
	for range maxList {
		if line[at-1] == '(' {
			return at-1 == s.wordsBegin()
		}
		before := scan.BackToken(line, 0, at-1)
		if line[at-1] != ' ' || before == at-1 || !s.spend(at-before) {
			return false
		}
		if line[before] == '(' {
			before++
		}
		if before == s.exception.at {
			return s.exception.is
		}
		if _, e, ok := scan.Address(line, before); !ok || e != at-1 || before == 0 {
			return false
		}
		at = before
	}
	return false
}

// threadWidth is how wide BSBacktraceLogger writes names: "%-30s  0x%08lx %s + %lu". It has no numbers, and the first address of a thread is
// exact. A name that it does not know is where the image begins.
const threadWidth = 30

// darwinPage is the end of the addresses at which nothing is.
const darwinPage = 1 << 12

// maxAppleName bounds the name of an image, in bytes.
const maxAppleName = 255

// isDistance reports whether an address, which may have a pointer authentication code in its high bits, is so far from where its image begins.
func isDistance(addr, base, distance uint64) bool {
	for _, bits := range [...]uint{64, 47, 39} {
		if addr&(1<<bits-1)-base == distance {
			return true
		}
	}
	return false
}

// darwinName reports whether an image is one of Darwin: by its name, or by its place. LLVM's own programs print such frames on Linux, too.
func darwinName(name []byte, addr uint64) bool {
	if bytes.Contains(name, soSuffix) {
		return false
	}
	return bytes.HasSuffix(name, dylibSuffix) || bytes.HasPrefix(name, bundleStart) || addr >= darwinStart && addr < darwinEnd
}

// hasLayout reports whether the columns of a frame are those of Darwin: reports have a tab before the address, and backtrace_symbols pads the
// name to 35 bytes. LLVM's own programs have the name one column further left.
func hasLayout(line []byte, num, mod Span, at int) bool {
	const nameColumn, nameWidth = 4, 35
	if mod.Start != num.Start+nameColumn || bytes.Contains(mod.Of(line), soSuffix) {
		return false
	}
	return bytes.IndexByte(line[mod.End:at], '\t') >= 0 || at == max(mod.Start+nameWidth, mod.End)+1
}

// isUUID reports whether text is a UUID, with hyphens or without.
func isUUID(text []byte) bool {
	digits := 0
	for i, c := range text {
		switch {
		case scan.IsHex(c):
			digits++
		case c != '-' || len(text) != 36 || i != 8 && i != 13 && i != 18 && i != 23:
			return false
		}
	}
	return digits == 32 && (len(text) == 32 || len(text) == 36)
}

// readAppleSample reads a frame of spindump or sample; `0x` stands at line[at].
func readAppleSample(s *Search, line []byte, at, from int, f *Frame) bool {
	mark := at - 1
	addr := span(at, 0)
	v, e, ok := scan.Address(line, at)
	if addr.End = e; !ok || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) && !scan.Has(line, e+1, " in ") && !scan.Has(line, e+1, " (") && !isSamples(line, e+1) {
		return false
	}
	low := max(from, s.begin, mark-maxModule)
	end := scan.BackSpaces(line, low, mark)
	s.spend(end - low)
	*f = Frame{Addr: addr, Off: addr, Offset: v, Arch: symsrc.AnyArch, Later: true, Base: Absolute, Gap: span(end, end)}
	switch {
	case end > low && line[end-1] == ')': // NAME (IMAGE + N), or NAME (<UUID> + N)
		open := low + s.lastIndex(line[low:end], []byte(" ("))
		plus := low + s.lastIndex(line[low:end], plusWord)
		if open < low || plus < open {
			return false
		}
		f.Module = span(open+len(" ("), plus)
		off := span(plus+len(plusWord), end-1)
		n, numEnd, ok := scan.Decimal(line, off.Start)
		if !ok || numEnd != off.End || f.Module.Empty() {
			return false
		}
		f.Off, f.Offset, f.Base, f.Space = off, n, InModule, symsrc.InImage
		f.Whole = span(nameStart(line, low, open), e+1)
		if m := f.Module.Of(line); m[0] == '<' && m[len(m)-1] == '>' && isUUID(m[1:len(m)-1]) {
			f.BuildID, f.Module, f.Arch, f.Later = span(f.Module.Start+1, f.Module.End-1), Span{}, "", false
		}
	default: // NAME  (in IMAGE) + N, or ???  (in IMAGE)  load address 0xBASE + 0xN
		in := low + s.lastIndex(line[low:end], inImageWord)
		if in < low {
			return false
		}
		f.Module.Start = in + len(inImageWord)
		close := s.lastIndexByte(line[f.Module.Start:end], ')')
		if close <= 0 {
			return false
		}
		f.Module.End = f.Module.Start + close
		f.Whole = span(nameStart(line, low, in), e+1)
		if load := scan.Spaces(line, f.Module.End+1); bytes.HasPrefix(line[load:], loadWord) {
			base, baseEnd, okBase := scan.Address(line, load+len(loadWord)-len("0x"))
			if !okBase || !isDistance(v, base, v-base) || !scan.Has(line, baseEnd, " + 0x") || v < base {
				return false
			}
			f.Offset, f.Base, f.Space = v-base, InModule, symsrc.InImage
		}
	}
	f.answer(s, line, e+1)
	return true
}

// isSamples reports whether a frame ends with the numbers of the samples in which it was, as spindump writes them: 1-1001, or 3.
func isSamples(line []byte, at int) bool {
	if at >= len(line) || line[at] != ' ' {
		return false
	}
	_, end, ok := scan.Decimal(line, at+1)
	if ok && end < len(line) && line[end] == '-' {
		_, end, ok = scan.Decimal(line, end+1)
	}
	return ok && scan.LineEnd(line, end)
}

// nameStart returns where the name begins that ends at line[end], after the number of samples.
func nameStart(line []byte, low, end int) int {
	start := end
	for start > low && !scan.IsSpace(line[start-1]) {
		start--
	}
	return start
}

// imageMark is in each frame of a report in JSON.
var imageMark = []byte(`"imageOffset":`)

// readIPS reads a frame of a report in JSON (.ips), whose images stand below all frames; `"imageOffset":` stands at line[at]:
//
//	{"imageOffset":24052,"symbol":"objc_msgSend","symbolLocation":32,"imageIndex":3}
func readIPS(s *Search, line []byte, at, from int, f *Frame) bool {
	return s.readObject(line, at, from, f, ofIPS)
}

// ofIPS reads the offset in an image, and the number of the image.
func ofIPS(line []byte, o *scan.Object, f *Frame) bool {
	off, index := o.Get(line, "imageOffset"), o.Get(line, "imageIndex")
	if off == nil || index == nil || off.Quoted || index.Quoted {
		return false
	}
	v, end, ok := scan.Decimal(line, off.Value.Start)
	i, indexEnd, okIndex := scan.Decimal(line, index.Value.Start)
	if !ok || !okIndex || end != off.Value.End || indexEnd != index.Value.End || i >= maxImages {
		return false
	}
	*f = Frame{Off: off.Value, Offset: v, Space: symsrc.InImage, ImageIndex: i + 1, Hint: o.Text(line, "symbol"), Convention: Raw, Run: Adjacent, Later: true}
	f.Done = o.Get(line, "sourceLine") != nil || o.Get(line, "inline") != nil // the system has named it
	if crashed(line[:o.Whole.Start]) {
		f.Convention = Exact
	}
	return true
}

var (
	framesKey    = []byte(`"frames"`)
	triggeredKey = []byte(`"triggered"`)
)

// crashed reports whether what stands before a frame says that it is the first one of the thread that crashed.
func crashed(before []byte) bool {
	before = bytes.TrimRight(before, " ")
	start, ok := bytes.CutSuffix(before, []byte("["))
	if !ok {
		return false
	}
	start, ok = bytes.CutSuffix(bytes.TrimRight(start, " :"), framesKey)
	start = start[max(0, len(start)-maxThread):]
	start = start[bytes.LastIndexByte(start, ']')+1:] // the frames of the thread before
	return ok && bytes.Contains(start, triggeredKey)
}

// maxThread bounds what a report says of a thread before its frames, in bytes: its registers.
const maxThread = 16 << 10

// maxImages bounds the number of an image.
const maxImages = 1 << 16
