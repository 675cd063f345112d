package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readGDB reads a frame of gdb that names no line, `#6  0x00007ffff7a4524a in f (x=1) from /lib/x.so` or `#0  0x55 in ?? ()`.
// One that does ends in `at file:line`. The first address is that of an instruction, and so is the one after `<signal handler called>`;
// the others are return addresses. TestLiveDebuggers runs it.
func readGDB(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	start := scan.Spaces(line, numEnd)
	addr, e, ok := scan.Address(line, start)
	if !ok || !scan.Has(line, e, " in ") {
		return false
	}
	limit := s.nextNumber(line, e)
	limit = min(s.textEnd(line[:limit], e), e+maxModule)
	end, from := limit, Span{}
	if k := s.lastIndex(line[e:limit], []byte(" from /")); k >= 0 {
		end = e + k
		from = span(end+len(" from "), limit)
	}
	if end-e <= len(inWord) {
		return false
	}
	text := line[e:end]
	done := s.endsWithLine(text)
	switch {
	case done:
		// What others write looks the same but for the arguments.
		if from.Empty() && !bytes.Contains(text, []byte(") at ")) {
			return false
		}
	case !from.Empty() && s.isName(text[len(inWord):]):
	case !s.hasArguments(text[len(inWord):]):
		return false
	}
	*f = Frame{Whole: span(at, limit), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Module: from, Off: span(start, e),
		Offset: addr, Base: Absolute, Gap: span(e, end), Convention: RawButFirst, Done: done}
	return true
}

// hasArguments reports whether text is a name and, after a space, the arguments of a call.
func (s *Search) hasArguments(text []byte) bool {
	if len(text) == 0 || text[len(text)-1] != ')' {
		return false
	}
	open := s.balanced(text, 0, len(text)-1)
	return open > 1 && text[open-1] == ' ' && s.isName(text[:open-1])
}
