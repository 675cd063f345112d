package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readBackward reads a frame of backward-cpp that names no line, `#6    Object "./a.out", at 0x4019d8, in main`. The address is one of
// the process. With the compiler's unwinder 1 is taken from a return address (Unwinder::backtrace in backward.hpp, `if
// (!ip_before_instruction) ip -= 1`), with glibc's backtrace it is as it is: the machine code shows which, and 1 less than the former
// is the same call. Without mappings those of a program that is not position-independent have a meaning. The outermost frame comes first,
// unless the printer's reverse is false.
func readBackward(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	const word = `Object "`
	start := scan.Spaces(line, numEnd)
	if !scan.Has(line, start, word) {
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
	addr, e, ok := scan.Address(line, p)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Addr: span(p, e), Module: span(start, start+end),
		Off: span(p, e), Offset: addr, Base: Absolute, Space: symsrc.Fixed, Convention: Raw, Run: EitherWay}
	if f.answer(s, line, e); f.Done {
		return true
	}
	if !scan.Has(line, e, ", in ") {
		return scan.LineEnd(line, e)
	}
	limit := s.textEnd(line, e)
	f.Gap.End, f.Whole.End = limit, limit
	return limit <= e+len(", in ") || s.isName(line[e+len(", in "):limit])
}
