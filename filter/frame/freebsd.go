package frame

import "qss-filter/filter/scan"

// readFreeBSD reads a frame of FreeBSD's kernel; `#` stands at line[at]:
//
//	#1 0xffffffff809495e6 at vpanic+0x126
//
// (stack_print in its sys/kern/subr_stack.c.) The addresses are return addresses, and those of the file, since the kernel is not moved.
// One in a module of the kernel is in no place of the kernel's file.
func readFreeBSD(s *Search, line []byte, at, from int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.Has(line, numEnd, " 0x") {
		return false
	}
	addr := span(numEnd+len(" "), numEnd+len(" 0xffffffff80000000"))
	v, e, ok := scan.Address(line, addr.Start)
	const upper = 1 << 63
	if !ok || e != addr.End || v < upper || !scan.Has(line, e, " at ") {
		return false
	}
	name := span(e+len(" at "), e+len(" at "))
	for limit := min(len(line), name.Start+maxSymbol); name.End < limit && isSymbolByte(line[name.End]); {
		name.End++
	}
	s.spend(name.End - name.Start)
	if name.Empty() || !scan.Has(line, name.End, "+0x") {
		return false
	}
	_, end, ok := scan.Address(line, name.End+1)
	if !ok || !mayEnd(line, end) {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Addr: addr, Off: addr, Offset: v, Hint: span(name.Start, end), Kernel: "kernel", Convention: Raw}
	f.answer(s, line, end)
	return true
}
