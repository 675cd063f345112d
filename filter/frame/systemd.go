package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readSystemd reads a frame of systemd-coredump, `#0  0x00007fd2dab662a2 raise (libc.so.6 + 0x3d2a2)`. The offset counts from
// the start of the module's mapping (systemd's elf-util.c prints `#%-2u 0x%016x %s (%s + 0x%x)`), "n/a" stands for a name, also for that of a module. The address
// is the frame's own (`module_offset = pc - start` there; 1 is taken only to find the name): a return address but for the first one.
func readSystemd(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	start := scan.Spaces(line, numEnd)
	_, e, ok := scan.Address(line, start)
	if !ok || e-start != len("0x0123456789abcdef") || e >= len(line) || line[e] != ' ' {
		return false
	}
	limit := min(s.nextNumber(line, e), e+2*maxModule)
	s.spendFast(limit - e)
	k := indexFrom(line[:limit], plusSpace0x, e)
	if k < 0 || line[k-1] != ' ' {
		return false
	}
	off, end, ok := scan.Address(line, k+2)
	if !ok || end >= len(line) || line[end] != ')' {
		return false
	}
	open := s.balanced(line, e+1, k) - 1
	if open < e || line[open] != ' ' || open+2 >= k-1 {
		return false
	}
	*f = Frame{Whole: span(at, end+1), Num: span(at+1, numEnd), Number: n, Addr: span(start, e),
		Module: span(open+2, k-1), Off: span(k+2, end), Offset: off, Space: symsrc.InImage, Convention: RawButFirst}
	f.replace(s, line, e, open)
	if string(f.Module.Of(line)) == "n/a" {
		*f = Frame{Shape: NumberOnly, Whole: f.Whole, Num: f.Num, Number: n, Convention: f.Convention}
	}
	return true
}
