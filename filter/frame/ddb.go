package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// ddbWord stands between the arguments of a function and its place.
const ddbWord = ") at "

// readDDB reads a frame of the kernel's debugger of the BSDs, which has no address; `+` stands at line[plus]:
//
//	vpanic() at vpanic+0x182/frame 0xfffffe0012345678       FreeBSD
//	vpanic() at netbsd:vpanic+0x140                         NetBSD
//	uvm_fault_lower(ffff8000248d2f50,0) at uvm_fault_lower+0x614
//
// (db_print_stack_entry in FreeBSD's sys/amd64/amd64/db_trace.c, db_stack_trace_print in NetBSD's sys/arch/x86/x86/db_trace.c and in OpenBSD's
// sys/arch/amd64/amd64/db_trace.c, which is the last one.) They are return addresses, but for what the debugger or a trap interrupted.
func readDDB(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, end, ok := scan.Address(line, plus+1)
	low := max(from, plus-maxSymbol)
	name := span(plus, plus)
	for name.Start > low && isSymbolByte(line[name.Start-1]) {
		name.Start--
	}
	s.spend(name.End - name.Start)
	const netBSD, frameWord = "netbsd:", "/frame 0x"
	kernel, at := "bsd", name.Start
	if scan.EndsWith(line, from, at, netBSD) {
		kernel, at = "netbsd", at-len(netBSD)
	}
	if !ok || name.Empty() || !scan.EndsWith(line, from, at, ddbWord) {
		return false
	}
	if scan.Has(line, end, frameWord) {
		kernel, end = "kernel", scan.HexEnd(line, end+len(frameWord))
	}
	if !mayEnd(line, end) {
		return false
	}
	called := line[max(from, at-maxArguments) : at-len(ddbWord)+1] // up to the parenthesis
	open := s.lastIndexByte(called, '(')
	if open < 0 || !bytes.HasSuffix(called[:open], name.Of(line)) {
		return false
	}
	begin := open - (name.End - name.Start)
	if begin > 0 && isSymbolByte(called[begin-1]) {
		return false
	}
	*f = Frame{Whole: span(at-len(ddbWord)+1-len(called)+begin, end), Symbol: name, Off: span(plus+1, scan.HexEnd(line, plus+len("+0x"))), Offset: off, Base: FromSymbol, Kernel: kernel}
	f.answer(s, line, end)
	return true
}

// maxArguments bounds a function and its arguments in bytes.
const maxArguments = maxSymbol + 512
