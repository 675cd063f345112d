package frame

import "qss-filter/filter/scan"

// readNuttX reads an entry of NuttX's backtraces, of which a line has up to eight, as wide as the machine's pointers; `0x` stands at line[at]:
//
//	[    2.340000] [ EMERG] backtrace| 2: 0x08000f1a 0x08001b3c
//
// (sched_dumpstack in its libs/libc/sched/sched_dumpstack.c.) They are return addresses, but those of the calls in Thumb code, whose lowest bit is
// not set then (getlroffset in arch/arm/src/common/arm_backtrace_thumb.c), and one may be that of a fault.
func readNuttX(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, end, ok := scan.Address(line, at)
	width := end - at
	if !ok || width != len("0x08000f1a") && width != len("0x0000000008000f1a") || !scan.WordEnd(line, end) {
		return false
	}
	start := at // of the list, of which frames may have been read
	for start > width && line[start-1] == ' ' && scan.Has(line, start-1-width, "0x") && s.spend(width) {
		start -= 1 + width
	}
	colon := scan.BackSpaces(line, 0, start) - 1
	if colon < 0 || line[colon] != ':' {
		return false
	}
	digits := scan.BackDigits(line, 0, colon)
	if digits == colon || !scan.EndsWith(line, 0, scan.BackSpaces(line, 0, digits), "backtrace|") {
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(at, end), Off: span(at, end), Offset: pc, Base: Absolute, Machines: Xtensa | RISCV | ARM | AArch64,
		Convention: Branching}
	f.answer(s, line, end)
	return true
}
