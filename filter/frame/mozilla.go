package frame

import "qss-filter/filter/scan"

// readMozilla reads a frame that Mozilla's MozFormatCodeAddress prints: `#01: ???[/usr/lib/libxul.so +0x1234]`, or done,
// `#01: f() (/src/a.h:339)`. The offset is the distance from the module's dli_fbase. What the walkers of its StackWalk.cpp return
// differs: the machine code decides.
func readMozilla(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd-at < len("#01") || !scan.Has(line, numEnd, ": ") {
		return false
	}
	start := numEnd + len(": ")
	limit := min(len(line), start+maxModule)
	s.spendFast(limit - start)
	plus := indexFrom(line[:limit], []byte(" +0x"), start)
	if plus < 0 {
		end := s.textEnd(line[:limit], start)
		if end == start || line[end-1] != ')' || !s.endsWithLine(line[start:end]) {
			return false
		}
		*f = Frame{Shape: NumberOnly, Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Done: true}
		return true
	}
	off, e, ok := scan.Address(line, plus+2)
	open := s.lastIndexByte(line[start:plus], '[')
	if !ok || e >= len(line) || line[e] != ']' || open <= 0 || start+open+1 >= plus {
		return false
	}
	*f = Frame{Whole: span(at, e+1), Num: span(at+1, numEnd), Number: n, Module: span(start+open+1, plus),
		Off: span(plus+2, e), Offset: off}
	if open > 0 {
		f.Hint = span(start, start+open)
	}
	f.answer(s, line, e+1)
	return true
}
