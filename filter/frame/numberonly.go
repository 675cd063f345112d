package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readNumberOnly reads what is left of numbered frames, `#N addr` with or without a name but without a module: Chromium,
// sanitizers for code outside of modules, and lines whose symbols are known. Such an address is one of the process; where
// text that is no name follows it, it is only a number that takes part in its stack.
func readNumberOnly(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, end, ok := scan.Decimal(line, at+1)
	if !ok || end >= len(line) || !scan.IsSpace(line[end]) {
		return false
	}
	p := scan.Spaces(line, end)
	v, e, ok := scan.Address(line, p)
	if !ok || !scan.WordEnd(line, e) {
		return false
	}
	limit := s.textEnd(line[:s.nextNumber(line, e)], e)
	if scan.Has(line, e, " <") && bytes.Contains(line[e:limit], []byte(execinfoWord)) {
		return false
	}
	*f = Frame{Shape: NumberOnly, Whole: span(at, limit), Num: span(at+1, end), Number: n, Counts: true, Addr: span(p, e),
		Gap: span(e, e), Convention: Sanitizers}
	f.Done = s.endsWithLine(line[e:limit])
	if p-end == 2 {
		// gdb and eu-stack align their numbers to the left.
		f.Counts, f.Convention = false, RawButFirst
	}
	text := scan.TrimLeft(bytes.TrimPrefix(line[e:limit], inWord))
	if f.Convention == RawButFirst && bytes.HasPrefix(line[e:limit], inWord) && bytes.IndexByte(text, ' ') < 0 {
		// gfortran, which names no arguments, prints what libbacktrace passes on: return addresses less 1, and those of faults.
		f.Lists, f.Convention = true, Exact
	}
	if begin := limit - len(text); f.Shape == NumberOnly && len(text) > 0 && text[0] != '-' {
		f.Hint = span(begin, limit)
	}
	if f.Done || limit > e && (!s.isName(text) || bytes.HasPrefix(text, unknownModule)) {
		return true
	}
	f.Shape, f.Base, f.Offset, f.Off, f.Gap.End = Numbered, Absolute, v, f.Addr, limit
	return true
}

var unknownModule = []byte("(<unknown module>")
