package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readFuchsia reads a frame that Fuchsia's symbolizer has not named; `#` stands at line[at]:
//
//	#23 0x01515046fe79 <VMO#351757>(5f6ac44089fc254a4911e3b55cdaa6d10c4f8174)+0x63e79
//
// It has taken 1 from some return addresses: the machine code decides.
func readFuchsia(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	start := scan.Spaces(line, numEnd)
	_, e, okAddr := scan.Address(line, start)
	if !ok || !okAddr || start == numEnd || !scan.Has(line, e, " <") {
		return false
	}
	mod := span(e+len(" <"), 0)
	shut := bytes.Index(line[mod.Start:min(len(line), mod.Start+maxModule)], []byte(">("))
	if s.spend(max(shut, 0)); shut <= 0 {
		return false
	}
	mod.End = mod.Start + shut
	id := span(mod.End+len(">("), scan.HexEnd(line, mod.End+len(">(")))
	const least = len("ce7229dde1121514")
	if id.End-id.Start < least || !scan.Has(line, id.End, ")+0x") {
		return false
	}
	off := span(id.End+len(")+"), 0)
	v, end, ok := scan.Address(line, off.Start)
	if off.End = end; !ok || !mayEnd(line, end) {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Module: mod, BuildID: id, Off: off, Offset: v}
	f.answer(s, line, end)
	return true
}
