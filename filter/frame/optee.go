package frame

import "qss-filter/filter/scan"

// readOPTEE reads a line of OP-TEE's call stack, `D/TC:4 0  0x000000003f0080ac` of its core or `E/LD:   0x0000000040014c3c` of a trusted
// application: `0x` stands at line[at]. It prints what its unwinder finds (print_kernel_stack in core/arch/arm/kernel/unwind_arm32.c, and
// ta_elf_stack_trace_a64 in ldelf/ta_elf.c): the machine code decides.
func readOPTEE(s *Search, line []byte, at, from int, f *Frame) bool {
	p := scan.BackSpaces(line, from, at)
	if p == at {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || e < at+len("0x01234567") || !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	tag := s.lastIndexByte(line[max(from, p-16):p], '/')
	if tag < 0 {
		return false
	}
	tag += max(from, p-16)
	if tag == from || !scan.Has(line, tag, "/TC:") && !scan.Has(line, tag, "/TA:") && !scan.Has(line, tag, "/LD:") {
		return false
	}
	for _, c := range line[tag+len("/TC:") : p] {
		if c-'0' > 9 && c != ' ' && c != '?' {
			return false
		}
	}
	*f = Frame{Whole: span(at, e), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute}
	f.answer(s, line, e)
	return true
}
