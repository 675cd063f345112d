package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// relocatedPC begins the line of U-Boot for 32-bit ARM with the registers from which it has taken how far it has moved itself.
const relocatedPC = "reloc pc : [<"

// ubootRegisters are the registers with a place in the code that U-Boot prints at an exception, by what stands before their digits.
var ubootRegisters = [...]struct {
	name       string
	machine    Machines
	convention Convention
}{{relocatedPC, ARM, Exact}, {"lr : [<", ARM, Branching}, {"elr: ", AArch64, Exact}, {"EPC: ", RISCV, Exact}, {"lr : ", AArch64, Returning}, {"RA: ", RISCV, Returning}}

// relocatedEnds say that U-Boot has taken from the registers of a line how far it has moved itself.
var relocatedEnds = [...][]byte{[]byte(" (reloc)"), []byte(" reloc adjusted")}

// readUBoot reads a register of U-Boot's exceptions, of which one of the names stands at line[at]:
//
//	elr: 00000000feaa47bc lr : 00000000feaa895c (reloc)
//	EPC: 0000000080001234 RA: 0000000080001230 reloc adjusted
//	reloc pc : [<c01414ad>]	   lr : [<c01414ad>]
//
// (show_regs in its arch/arm/lib/interrupts_64.c and interrupts.c, and _exit_trap in arch/riscv/lib/interrupts.c.) The other lines with these
// registers have the addresses in memory, where the file has other code.
func readUBoot(s *Search, line []byte, at, from int, f *Frame) bool {
	for _, r := range ubootRegisters {
		if !scan.Has(line, at, r.name) || !scan.WordStart(line, from, at) {
			continue
		}
		start := at + len(r.name)
		addr, end, ok := scan.Hex(line, start)
		if !ok || end-start != len("00000000feaa47bc") && end-start != len("80001234") || !relocated(line) {
			return false
		}
		digits := end
		if scan.Has(line, end, ">]") {
			end += len(">]")
		}
		*f = Frame{Whole: span(at, end), Addr: span(start, digits), Off: span(start, digits), Offset: addr, Base: Absolute, Machines: r.machine, Convention: r.convention}
		f.answer(s, line, end)
		return true
	}
	return false
}

// relocated reports whether U-Boot has taken from the registers of a line how far it has moved itself.
func relocated(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	return bytes.Contains(line, []byte(relocatedPC)) || bytes.HasSuffix(line, relocatedEnds[0]) || bytes.HasSuffix(line, relocatedEnds[1])
}
