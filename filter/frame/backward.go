package frame

import "bytes"

// readBackward reads a frame of backward-cpp that names no line, `#6    Object "./a.out", at 0x4019d8, in main`.
func readBackward(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	const word = `Object "`
	start := skipBlanks(line, numEnd)
	if !has(line, start, word) {
		return false
	}
	start += len(word)
	const middle = `", at `
	s.spendFast(min(len(line)-start, maxModule))
	end := bytes.Index(line[start:min(len(line), start+maxModule)], []byte(middle))
	if end < 0 {
		return false
	}
	p := start + end + len(middle)
	addr, e, ok := hexNumber(line, p)
	if !ok {
		return false
	}
	*f = Frame{Whole: Span{at, e}, Num: Span{at + 1, numEnd}, Number: n, Addr: Span{p, e}, Module: Span{start, start + end},
		Off: Span{p, e}, Offset: addr, Space: Absolute, Convention: Raw}
	if f.answer(s, line, e); f.Done {
		return true
	}
	if !has(line, e, ", in ") {
		return atEnd(line, e)
	}
	limit := s.textEnd(line, e)
	if f.Gap.End, f.Whole.End = limit, limit; limit > e+len(", in ") {
		return s.isName(line[e+len(", in ") : limit])
	}
	f.Gap.End, f.Whole.End = e, e
	return true
}
