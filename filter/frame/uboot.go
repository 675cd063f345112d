package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// ubootRegisters are the registers with a place in the code that U-Boot prints at an exception, by what stands before their digits.
var ubootRegisters = [...]struct {
	name       string
	machine    Machines
	convention Convention
}{{"elr: ", AArch64, Exact}, {"EPC: ", RISCV, Exact}, {"pc : [<", ARM, Exact}, {"lr : [<", ARM, Returning}, {"lr : ", AArch64, Returning}, {"RA: ", RISCV, Returning}}

// What says that U-Boot has taken from the registers of a line how far it has moved itself.
var (
	relocatedEnds = [...][]byte{[]byte(" (reloc)"), []byte(" reloc adjusted")}
	relocatedPC   = []byte("reloc pc : [<")
)

// readUBoot reads a register of U-Boot's exceptions, of which one of the names stands at line[at]:
//
//	elr: 00000000feaa47bc lr : 00000000feaa895c (reloc)
//	EPC: 0000000080001234 RA: 0000000080001230 reloc adjusted
//	reloc pc : [<17801234>]    lr : [<17801238>]
//
// (show_regs in its arch/arm/lib/interrupts_64.c, _exit_trap in arch/riscv/lib/interrupts.c and show_regs in arch/arm/lib/interrupts.c.) The other
// lines with these registers have the addresses in memory, where the file has other code.
func readUBoot(s *Search, line []byte, at, from int, f *Frame) bool {
	for _, r := range ubootRegisters {
		if !scan.Has(line, at, r.name) || !scan.WordStart(line, from, at) {
			continue
		}
		start := at + len(r.name)
		addr, end, ok := scan.Hex(line, start)
		if !ok || end-start != len("17801234") && end-start != len("00000000feaa47bc") || !relocated(line) {
			return false
		}
		*f = Frame{Whole: span(at, end), Addr: span(start, end), Off: span(start, end), Offset: addr, Base: Absolute, Machines: r.machine, Convention: r.convention}
		if scan.Has(line, end, ">]") {
			f.Whole.End += len(">]")
		}
		f.answer(s, line, f.Whole.End)
		return true
	}
	return false
}

// relocated reports whether U-Boot has taken from the registers of a line how far it has moved itself.
func relocated(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	return bytes.HasSuffix(line, relocatedEnds[0]) || bytes.HasSuffix(line, relocatedEnds[1]) || bytes.Contains(line, relocatedPC)
}
