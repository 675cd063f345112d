package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

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

// readPX4 reads a register of PX4's log of faults on ARM; `pc:0x` or `lr:0x` stands at line[at]:
//
//	r8:0x00000000 r9:0x00000000 r10:0x00000003 r11:0x00000000 r12:0x00000000  sp:0x2007d820 lr:0x080148dd pc:0x08014900
//
// (write_registers in its src/systemcmds/hardfault_log/hardfault_log.c.)
func readPX4(s *Search, line []byte, at, from int, f *Frame) bool {
	const name = "pc:"
	start := at + len(name)
	pc, end, ok := boardAddress(line, start)
	if !ok || !scan.WordEnd(line, end) || !scan.WordStart(line, from, at) || !bytes.Contains(line[max(0, at-len(" sp:0x2007d820 lr:0x080148dd ")-1):at], []byte(" sp:0x")) {
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(start, end), Off: span(start, end), Offset: pc, Base: Absolute, Machines: ARM, Convention: Exact}
	if line[at] == 'l' {
		f.Convention = Returning
	}
	f.answer(s, line, end)
	return true
}
