package frame

import "qss-filter/filter/scan"

// readZephyrRISCV reads a register of Zephyr's fatal errors on RISC-V, or a frame of its call traces; ` ra: ` or `mepc: ` stands at line[at]:
//
//	E:      ra: 80000718
//	E:    mepc: 80000726
//	E:       0: ra: 80000726 [func2+0x30]
//	E:       1: fp: 000000008000dc50   ra: 000000008000042a
//
// The first frame of a trace may be that of the fault, the others are return addresses (z_riscv_fatal_error and walk_stackframe in its
// arch/riscv/core).
func readZephyrRISCV(s *Search, line []byte, at, from int, f *Frame) bool {
	const link, fault = "ra: ", "mepc: "
	start, convention := at+len(fault), Exact
	if line[at] == ' ' {
		at++
		start, convention = at+len(link), Returning
	}
	end := scan.HexEnd(line, start)
	pc, e, ok := scan.Hex(line, start)
	if !ok || e != end || end-start != len("80000718") && end-start != len("0000000080000718") {
		return false
	}
	num := span(0, 0)
	switch p := scan.BackSpaces(line, from, at); {
	case at-p >= len("   ") && convention == Exact: // nothing else has its name
	case at-p == len("   "): // behind the pointer to the frame
		p = scan.BackHex(line, from, p)
		if !scan.EndsWith(line, from, p, ": fp: ") && !scan.EndsWith(line, from, p, ": sp: ") {
			return false
		}
		p -= len(" fp: ")
		num = span(scan.BackDigits(line, from, p-1), p-1)
	case at-p == len(" ") && p > from && line[p-1] == ':':
		num = span(scan.BackDigits(line, from, p-1), p-1)
	case at-p < len("     "):
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(start, end), Off: span(start, end), Offset: pc, Base: Absolute, Machines: RISCV, Convention: convention}
	if n, _, ok := scan.Decimal(line, num.Start); num.End > 0 {
		if !ok || num.Empty() {
			return false
		}
		if f.Num, f.Number, f.Whole.Start = num, n, num.Start; n == 0 {
			f.Convention = TracedFirst
		}
	}
	if scan.Has(line, end, " [") { // the board has its symbols
		close := end + len(" [")
		for limit := min(len(line), close+maxSymbol); close < limit && isSymbolByte(line[close]) || scan.Has(line, close, "+"); {
			close++
		}
		if scan.Has(line, close, "]") {
			f.Whole.End = close + 1
		}
	}
	f.answer(s, line, f.Whole.End)
	return f.Done || scan.LineEnd(line, f.Whole.End)
}
