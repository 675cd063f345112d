package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readRuby reads a frame of Ruby's report of a crash without a function; `0x` stands at line[at]:
//
//	/usr/local/lib/libruby.so.2.5(0xa7868) [0x7ff8cd631868]
//	/lib/x86_64-linux-gnu/libpthread.so.0(0x7ff8cd571730) [0x7ff8cd571730]
//
// The first number counts from where the module begins (dli_fbase), which is taken for 0 where Ruby has not read the file (print_line0 in its
// addr2line.c). Those with a function look like glibc's.
func readRuby(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	const middle = ") ["
	if !ok || e >= len(line) || line[e] != ']' || !scan.EndsWith(line, from, at, middle) {
		return false
	}
	offEnd := at - len(middle)
	open := scan.BackHex(line, from, offEnd) - len("(0x")
	if open <= from || line[open] != '(' {
		return false
	}
	off, end, ok := scan.Address(line, open+1)
	start, nameEnd := s.program(line, from, open)
	if !ok || end != offEnd || start < 0 || line[start] != '/' && start > s.begin {
		return false
	}
	*f = Frame{Whole: span(start, e+1), Module: span(start, nameEnd), Off: span(open+1, end), Offset: off, Addr: span(at, e), Space: symsrc.InImage, Convention: Raw}
	switch {
	case off == addr:
		f.Base, f.Space = Absolute, symsrc.Fixed
	case off > addr || (addr-off)&0xfff != 0:
		return false
	}
	f.answer(s, line, e+1)
	return f.Done || scan.LineEnd(line, e+1)
}

// sourced lets the frame be done if its source follows line[:end], as Ruby writes it: ` vm_dump.c:758`. The function before it may be inlined then,
// and the offset is not from its symbol.
func (f *Frame) sourced(s *Search, line []byte, end int) {
	if f.Done || end >= len(line) || line[end] != ' ' {
		return
	}
	limit := s.textEnd(line, end)
	if text := line[end:limit]; len(text) > 2 && text[1] != '(' && bytes.IndexByte(text, '[') < 0 && s.endsWithLine(text) {
		f.Gap, f.Whole.End, f.Done = span(end, limit), limit, true
	}
}
