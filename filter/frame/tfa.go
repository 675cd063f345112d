package frame

import "qss-filter/filter/scan"

// readTFA reads a frame of the backtraces of Trusted Firmware-A; `:` stands at line[at]:
//
//	0: EL3: 0x4020a10
//	1: S-EL1: 0xe100e98
//
// They are the addresses of calls (unwind_stack in its common/backtrace/backtrace.c).
func readTFA(s *Search, line []byte, at, from int, f *Frame) bool {
	const level = len("EL3")
	name := at - level
	if !scan.Has(line, max(name, 0), "EL") || name < from || !scan.IsDigit(line[at-1]) {
		return false
	}
	if scan.EndsWith(line, from, name, "S-") {
		name -= len("S-")
	}
	colon := name - len(": ")
	if colon < from || !scan.Has(line, colon, ": ") {
		return false
	}
	num, start := span(scan.BackDigits(line, from, colon), colon), at+len(": ")
	n, _, isNumber := scan.Decimal(line, num.Start)
	addr, end, ok := scan.Address(line, start)
	if !ok || !isNumber || num.Empty() || !scan.WordStart(line, from, num.Start) || !scan.LineEnd(line, end) && !scan.Has(line, end, " in ") {
		return false
	}
	*f = Frame{Whole: span(num.Start, end), Num: num, Number: n, Addr: span(start, end), Off: span(start, end), Offset: addr, Base: Absolute,
		Machines: ARM | AArch64, Convention: Exact}
	f.answer(s, line, end)
	return true
}
