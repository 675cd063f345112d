package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readCUDA reads a frame of the host in the reports of NVIDIA's cuda-memcheck and compute-sanitizer; `0x` stands at line[at]:
//
//	=========     Host Frame:/lib64/libc.so.6 (__libc_start_main + 0xfd) [0x1ecdd]
//	=========     Host Frame:./demo [0x2a59]
//	=========     Host Frame: main [0x2d03] in /home/x/demo
//
// NVIDIA's manual has these samples, its source is not public. The offset counts from the start of the module: the program in them is not
// position-independent. It is a return address, as that of __libc_start_main in them, which its own call to main precedes.
func readCUDA(s *Search, line []byte, at, from int, f *Frame) bool {
	const word = "Host Frame:"
	if at <= from || line[at-1] != '[' {
		return false
	}
	off, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	from = max(from, at-2*maxModule)
	start := from + s.lastIndex(line[from:at], []byte(word))
	if start < from {
		return false
	}
	*f = Frame{Whole: span(start, e+1), Off: span(at, e), Offset: off, Space: symsrc.InImage, Convention: Raw}
	text := span(start+len(word), scan.BackSpaces(line, start+len(word), at-1))
	if !text.Empty() && line[text.Start] != ' ' {
		f.Module = text
		if i := bytes.Index(text.Of(line), []byte(" (")); i > 0 {
			f.Module.End = text.Start + i
		}
		f.answer(s, line, e+1)
		// Without a slash it is a function, whose module is on the next line. With a colon it names a line.
		name := f.Module.Of(line)
		return bytes.IndexByte(name, '/') >= 0 && bytes.IndexByte(name, ':') < 0 && bytes.IndexByte(name, ' ') < 0 && (f.Done || scan.LineEnd(line, e+1))
	}
	if bytes.Contains(text.Of(line), inWord) || !scan.Has(line, e+1, " in ") {
		return false // it names a line, or the module is on the next line
	}
	f.Module.Start = e + 1 + len(" in ")
	for f.Module.End = f.Module.Start; !scan.WordEnd(line, f.Module.End) && s.spend(1); {
		f.Module.End++
	}
	f.Whole.End = f.Module.End
	f.answer(s, line, f.Module.End)
	return !f.Module.Empty() && (f.Done || scan.LineEnd(line, f.Module.End))
}
