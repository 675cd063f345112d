package frame

// readMozilla reads a frame that Mozilla's MozFormatCodeAddress prints: `#01: ???[/usr/lib/libxul.so +0x1234]`, or done,
// `#01: f() (/src/a.h:339)`.
func readMozilla(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := decimal(line, at+1)
	if !ok || numEnd-at < len("#01") || !has(line, numEnd, ": ") {
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
		*f = Frame{Shape: NumberOnly, Whole: Span{at, end}, Num: Span{at + 1, numEnd}, Number: n, Done: true}
		return true
	}
	off, e, ok := hexNumber(line, plus+2)
	open := s.lastIndexByte(line[start:plus], '[')
	if !ok || e >= len(line) || line[e] != ']' || open <= 0 || start+open+1 >= plus {
		return false
	}
	*f = Frame{Whole: Span{at, e + 1}, Num: Span{at + 1, numEnd}, Number: n, Module: Span{start + open + 1, plus},
		Off: Span{plus + 2, e}, Offset: off}
	f.answer(s, line, e+1)
	return true
}
