package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// hostFrame begins a frame of the host in the reports of NVIDIA's cuda-memcheck and compute-sanitizer, and secondLine the second line of one
// that has two.
var (
	hostFrame  = []byte("Host Frame:")
	secondLine = []byte("=========    ")
)

// maxHostFrame bounds what stands before the address of such a frame, in bytes: names of C++ templates are long.
const maxHostFrame = 8 << 10

// readCUDA reads such a frame; `0x` stands at line[at]. CUDA has had three forms, until 11.4, 12.7 and since then:
//
//	=========     Host Frame:/lib64/libc.so.6 (__libc_start_main + 0xfd) [0x1ecdd]
//	=========     Host Frame:./demo [0x2a59]
//
//	=========     Host Frame:cudaLaunchKernel [0x6bedb]
//	=========                in /usr/lib/libcudart.so.12
//
//	=========         Host Frame: main [0x2d03] in demo
//
// The two lines of the second form come as one text in the third (OpensHostFrame). With debug information the name is FILE:LINE:NAME or
// NAME in FILE:LINE. NVIDIA's manual has samples, its source is not public. The offset counts from the start of the module, also in programs
// that are not position-independent: those of CUDA 5 and of RHEL 8 have small ones. It is a return address: 0x20830 in the libc of Ubuntu 16.04
// and 0x29d90 in that of 22.04 follow the call of main.
func readCUDA(s *Search, line []byte, at, from int, f *Frame) bool {
	if at <= from || line[at-1] != '[' {
		return false
	}
	off, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	from = max(from, at-maxHostFrame)
	start := s.needed
	if start < from {
		return false
	}
	*f = Frame{Whole: span(start, e+1), Off: span(at, e), Offset: off, Space: symsrc.InImage, Convention: Raw}
	text := span(start+len(hostFrame), scan.BackSpaces(line, start+len(hostFrame), at-1))
	if f.Module = cudaModule(line, text); !f.Module.Empty() {
		if parens := span(f.Module.End+len(" ("), text.End-1); parens.Start < parens.End && line[parens.End] == ')' {
			f.Hint = parens
		}
		f.answer(s, line, e+1)
		return f.Done || scan.LineEnd(line, e+1)
	}
	if !scan.Has(line, e+1, " in ") || namesLine(text.Of(line)) {
		return false
	}
	f.Module.Start = e + 1 + len(inWord)
	for f.Module.End = f.Module.Start; !scan.WordEnd(line, f.Module.End) && s.spend(1); {
		f.Module.End++
	}
	f.Whole.End, f.Hint, f.Hosts = f.Module.End, text, true
	f.answer(s, line, f.Module.End)
	return !f.Module.Empty() && (f.Done || scan.LineEnd(line, f.Module.End))
}

// cudaModule returns the module at the beginning of what stands between the words and the address. Without a slash it is a function, whose
// module stands after the address. With a colon it names a line.
func cudaModule(line []byte, text Span) Span {
	if i := bytes.Index(text.Of(line), []byte(" (")); i > 0 {
		text.End = text.Start + i
	}
	if name := text.Of(line); bytes.IndexByte(name, '/') < 0 || bytes.ContainsAny(name, ": ") {
		return Span{}
	}
	return text
}

// namesLine reports whether what stands in the place of a function is `NAME in FILE:LINE` or `FILE:LINE:NAME`.
func namesLine(text []byte) bool {
	if bytes.Contains(text, inWord) {
		return true
	}
	for i := 1; i < len(text); i++ {
		if text[i] != ':' || text[i-1] == ':' {
			continue
		}
		digits := i + 1
		for i = digits; i < len(text) && scan.IsDigit(text[i]); {
			i++
		}
		if i > digits && i < len(text) && text[i] == ':' {
			return true
		}
		i--
	}
	return false
}

// MayOpenHostFrame reports, at little cost, whether a line may have a text of which OpensHostFrame is true.
func MayOpenHostFrame(line []byte) bool {
	return bytes.Contains(line, hostFrame) || opensMetric(line) || opensLocation(line)
}

// OpensHostFrame returns where a frame begins and ends in a text whose module stands on the writer's next line. ok is false if there is none.
func OpensHostFrame(text []byte) (at Span, ok bool) {
	text = bytes.TrimRight(text, " ")
	if opensMetric(text) {
		return metricOpening(text)
	}
	if opensLocation(text) {
		return locationOpening(text)
	}
	if len(text) == 0 || text[len(text)-1] != ']' || !bytes.Contains(text, hostFrame) {
		return at, false
	}
	at = span(bytes.LastIndex(text, hostFrame), len(text))
	open := bytes.LastIndex(text, []byte("[0x"))
	if open < at.Start || at.End-at.Start > maxHostFrame {
		return at, false
	}
	name := span(at.Start+len(hostFrame), scan.BackSpaces(text, at.Start+len(hostFrame), open))
	_, e, ok := scan.Address(text, open+1)
	return at, ok && e == at.End-1 && cudaModule(text, name).Empty()
}

// MayCloseHostFrame is MayOpenHostFrame for ClosesHostFrame.
func MayCloseHostFrame(line []byte) bool {
	return bytes.Contains(line, secondLine) || bytes.Contains(line, metricMark) || bytes.Contains(line, addressKey)
}

// ClosesHostFrame returns where ` in MODULE`, which may be missing, or the offset begins in the second line of such a frame. ok is false if it
// is none.
func ClosesHostFrame(text []byte) (at int, ok bool) {
	if at = scan.Spaces(text, 0); bytes.HasPrefix(text[at:], metricMark) || bytes.HasPrefix(text[at:], addressKey) {
		return at, true
	}
	if !bytes.HasPrefix(text, secondLine) {
		return 0, false
	}
	at = scan.Spaces(text, len(secondLine)) - 1
	return at, scan.Has(text, at, " in ")
}
