package frame

import "qss-filter/filter/scan"

// readV8 reads a frame of V8's and Chromium's own stacks where they know no symbols, ` [0x7f6b13882bf1]` alone on its line; `0x` stands at
// line[at]. The address is what backtrace() returns (OutputPointer and ProcessBacktrace in V8's src/base/debug/stack_trace_posix.cc).
func readV8(s *Search, line []byte, at, _ int, f *Frame) bool {
	open := at - 1
	if open < 0 || line[open] != '[' || scan.BackSpaces(line, 0, open) > s.begin {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) && !scan.Has(line, e+1, " in ") {
		return false
	}
	*f = Frame{Whole: span(open, e+1), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Raw}
	f.answer(s, line, e+1)
	return true
}

// readV8Numbered reads a frame of V8's stacks as they were before 2015, ` 1: 0xb29b0f4` alone on its line; `:` stands at line[at].
func readV8Numbered(s *Search, line []byte, at, from int, f *Frame) bool {
	num, start := span(scan.BackDigits(line, from, at), at), at+len(": ")
	n, _, isNumber := scan.Decimal(line, num.Start)
	addr, e, ok := scan.Address(line, start)
	if !ok || !isNumber || scan.BackSpaces(line, 0, num.Start) > s.begin || !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(start, e), Off: span(start, e), Offset: addr, Base: Absolute,
		Convention: Raw}
	f.answer(s, line, e)
	return true
}
