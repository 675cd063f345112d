package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readElfutils reads the second line of a frame of `eu-stack -b`, `    [67f5bdb4]@0x555555554000+0x13ab`: the build ID, where the
// module begins, and how far after that the call lies. `+` stands at line[plus]. 1 is taken from a return address before the module is
// looked for (print_frame in elfutils' src/stack.c, `pc_adjusted = pc - (isactivation ? 0 : 1)`); TestLiveDebuggers runs it.
func readElfutils(s *Search, line []byte, plus, from int, f *Frame) bool {
	low := max(from, plus-len("0x0123456789abcdef"))
	base := plus
	for base > low && line[base-1] != 'x' {
		if !scan.IsHex(line[base-1]) {
			return false
		}
		base--
	}
	base -= 2
	if base < from+3 || !scan.Has(line, base-2, "]@0x") {
		return false
	}
	idEnd := base - 2
	open := scan.BackHex(line, max(from, idEnd-128), idEnd)
	off, end, ok := scan.Address(line, plus+1)
	if open == idEnd || open == from || line[open-1] != '[' || !ok {
		return false
	}
	*f = Frame{Whole: span(open-1, end), BuildID: span(open, idEnd), Off: span(plus+1, end), Offset: off, Space: symsrc.InImage,
		Convention: Moved}
	f.answer(s, line, end)
	return true
}
