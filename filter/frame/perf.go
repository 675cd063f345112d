package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readPerf reads a frame of `perf script`; `+` stands at line[plus]:
//
//	\t           14645 handle_amd+0x25 (/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2)
//	\tffffffff822039e0 _raw_spin_unlock+0x0 ([kernel.kallsyms])
//
// The number is as wide as 16 digits. For a file it is the offset there (map__map_ip of perf's util/map.c), for the kernel
// and its modules the address. A sample begins with what was interrupted, and so does what follows the kernel's frames: the
// program's own registers. The others are return addresses where frame pointers led to them, and 1 less where DWARF did (entry in
// perf's util/unwind-libdw.c: `if (!isactivation) --pc`). An empty line and a headline stand between samples. TestLivePerf runs it.
func readPerf(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || !scan.Has(line, e, " (") {
		return false
	}
	addr, v, nameStart, ok := s.perfAddress(line, max(from, plus-maxModule), plus)
	if !ok || nameStart >= plus || !s.perfModule(line, e+1, f) {
		return false
	}
	f.Off, f.Offset, f.Space = addr, v, symsrc.InFile
	if line[f.Module.Start] == '[' {
		f.Module.Start++
		f.Module.End--
		f.Addr, f.Symbol, f.Off, f.Offset = addr, span(nameStart, plus), span(plus+1, e), off
		f.Base, f.Space = FromSymbol, symsrc.Linked
		if bytes.HasPrefix(f.Module.Of(line), []byte("kernel.")) || bytes.HasPrefix(f.Module.Of(line), []byte("guest.kernel.")) {
			f.Module = Span{}
		}
	}
	f.Whole.Start, f.Gap = addr.Start, span(addr.End, e)
	f.Done = bytes.HasPrefix(line[addr.End:], inWord) // this filter has been here before
	return true
}

// readPerfUnknown reads a frame whose function perf does not know, `\t           14645 [unknown] (/usr/lib/x.so)`; the bracket
// stands at line[at]. Where it does not know the module either, `([unknown])`, there is nothing to look up.
func readPerfUnknown(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, v, nameStart, ok := s.perfAddress(line, max(from, at-len("0123456789abcdef")-2), at)
	end := at + len("[unknown]")
	if !ok || nameStart != at || !s.perfModule(line, end+1, f) {
		return false
	}
	if line[f.Module.Start] == '[' {
		*f = Frame{Shape: NumberOnly, Whole: span(addr.Start, f.Whole.End), Run: Adjacent}
		return true
	}
	f.Whole.Start, f.Off, f.Offset, f.Space, f.Gap = addr.Start, addr, v, symsrc.InFile, span(addr.End, end)
	return true
}

// perfAddress reads the tab and the padded number before what stands at end, and returns where the name after it begins.
func (s *Search) perfAddress(line []byte, from, end int) (addr Span, v uint64, nameStart int, ok bool) {
	tab := s.lastIndexByte(line[from:end], '\t')
	if tab < 0 {
		return Span{}, 0, 0, false
	}
	field := from + tab + 1
	start := scan.Spaces(line, field)
	v, e, ok := scan.Hex(line, start)
	if !ok || e-field != len("0123456789abcdef") || e >= len(line) || line[e] != ' ' {
		return Span{}, 0, 0, false
	}
	return span(start, e), v, e + 1, true
}

// perfModule reads `(path)` or `([name])` at open, which ends the line. A name of the kernel's is one word.
func (s *Search) perfModule(line []byte, open int, f *Frame) bool {
	limit := s.textEnd(line, open)
	if limit-open > maxModule || limit < open+4 || line[open] != '(' || line[limit-1] != ')' ||
		line[open+1] != '/' && (line[open+1] != '[' || line[limit-2] != ']') {
		return false
	}
	if line[open+1] == '[' && bytes.ContainsAny(line[open+2:limit-2], " ()[]") {
		return false
	}
	*f = Frame{Whole: span(open, limit), Module: span(open+1, limit-1), Convention: RawButFirst, Run: Adjacent}
	return true
}

// readPerfInlined reads a line of a function that perf itself found to be inlined into that of the next frame, which stands at
// the same address:
//
//	\t           14645 deref+0x25 (inlined)
//
// It is only known to be one of the stack.
func readPerfInlined(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, _, nameStart, ok := s.perfAddress(line, max(from, at-maxModule), at)
	end := at + len("(inlined)")
	if !ok || nameStart >= at-1 || line[at-1] != ' ' || !scan.LineEnd(line, end) {
		return false
	}
	*f = Frame{Shape: NumberOnly, Whole: span(addr.Start, end), Run: Adjacent, Done: true}
	return true
}
