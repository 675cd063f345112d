package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readFault reads the place of a fault of a program in the Linux kernel's message; ` ip` stands at line[at]:
//
//	a.out[123]: segfault at 0 ip 00007f4d8065a050 sp 00007ffc0b2a1c58 error 4 in libc.so.6[7f4d80600000+155000]
//	a.out[123]: segfault at 0 ip 00007f4d8065a050 sp 00007ffc0b2a1c58 error 4 in libc.so.6[8a050,7f4d805f6000+155000]
//	traps: a.out[123] trap invalid opcode ip:401136 sp:7ffc0b2a1c58 error:0 in a.out[401000+1000]
//	traps: a.out[123] attempts to use CLI/STI, pretending it's a NOP, ip:401136 in a.out[401000+1000]
//
// The instruction is the one that failed, or the one before it after a trap (show_signal_msg in arch/x86/mm/fault.c, show_signal and
// fixup_iopl_exception in arch/x86/kernel/traps.c). In the brackets are the start and the size of its mapping, since Linux 6.7 after the
// offset in the file (print_vma_addr in mm/memory.c). Without that the mapping is taken for the executable one, since the processor ran
// it. After a bad signal frame (signal_fault in arch/x86/kernel/signal.c) the instruction is either that after a system call or the one
// that the signal has interrupted, and nothing says which.
func readFault(s *Search, line []byte, at, from int, f *Frame) bool {
	word := at + len(" ip")
	if word == len(line) || line[word] != ' ' && line[word] != ':' {
		return false
	}
	_, e, ok := scan.Hex(line, word+1)
	if !ok || !scan.Has(line, e, " sp") && !scan.Has(line, e, " in ") || !s.fault(line, at, from, f) {
		return false
	}
	if trapped(line[from:at]) {
		f.Offset-- // without an instruction before it the mapping has no such offset
	}
	return true
}

// trapped reports whether the address after text is that of the instruction after the one of which it says that it trapped. Intel's
// manual has INT3 and INTO for traps, and the other exceptions of arch/x86/kernel/traps.c for faults.
func trapped(text []byte) bool {
	return bytes.HasSuffix(text, []byte(" trap int3")) || bytes.HasSuffix(text, []byte(" trap overflow"))
}

// readFaultARM reads the same on arm64, where the instruction stands in the list of registers below it; its first words stand at line[at]:
//
//	a.out[123]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in a.out[7a4,aaaab0a90000+1000]
//	a.out[123]: unhandled exception: undefined instruction in a.out[7a4,aaaab0a90000+1000]
//
// The exception has a register only if it has set one (arm64_show_signal in arch/arm64/kernel/traps.c). Without the offset in the file
// there is nothing to look up here.
func readFaultARM(s *Search, line []byte, at, from int, f *Frame) bool {
	return scan.Has(line, at+len(": unhandled "), "exception: ") && s.fault(line, at, from, f)
}

// readFaultPowerPC reads the same on PowerPC; ` nip ` stands at line[at]:
//
//	a.out[123]: segfault (11) at 0 nip 10000b2c lr 10001024 code 1 in a.out[10000000+d0000]
//	a.out[123]: segfault (11) at 0 nip 10000b2c lr 10001024 code 1 in a.out[b2c,10000000+d0000]
//
// An instruction that could not be fetched is the address of the fault itself (show_signal_msg in arch/powerpc/kernel/traps.c). Not all
// processors of 32 bits keep programs from running data.
func readFaultPowerPC(s *Search, line []byte, at, from int, f *Frame) bool {
	nip, e, ok := scan.Hex(line, at+len(" nip "))
	start := bytes.LastIndex(line[max(from, at-maxToken):at], []byte(" at ")) + max(from, at-maxToken)
	if !ok || start < from || !scan.Has(line, e, " lr ") {
		return false
	}
	failed, end, ok := scan.Hex(line, start+len(" at "))
	if !ok || end != at || failed == nip || !s.fault(line, at, from, f) {
		return false
	}
	if nip>>32 == 0 {
		f.fix(nip)
	}
	return true
}

// fix lets the address of a fault without an offset in the file be one of a program that is loaded where it is linked: on machines that run
// data, too, the mapping may be any.
func (f *Frame) fix(addr uint64) {
	if f.Space == symsrc.InText {
		f.Space, f.Offset = symsrc.Fixed, addr
	}
}

// readFaultSignal reads the same on RISC-V, where the instruction stands in the list of registers below it; its first words stand at line[at]:
//
//	a.out[123]: unhandled signal 11 code 0x1 at 0x0000000000000000 in a.out[7a4,2aaaaaa000+1000]
//
// It is do_trap in arch/riscv/kernel/traps.c.
func readFaultSignal(s *Search, line []byte, at, from int, f *Frame) bool {
	return scan.Has(line, at+len(": unhandled "), "signal ") && s.fault(line, at, from, f)
}

// readFaultS390 reads the same on s390; its first words stand at line[at]:
//
//	User process fault: interruption code 0010 ilc:2 in a.out[43c4,1000000+8000]
//
// The address is that of the instruction where its operand could not be translated (0010, 0011, 0038 to 003b) or was protected, for which the
// kernel goes back (do_protection_exception in arch/s390/mm/fault.c). After other exceptions it is that of the next one, ilc halfwords farther
// on (get_trap_ip in arch/s390/kernel/traps.c).
func readFaultS390(s *Search, line []byte, at, from int, f *Frame) bool {
	const word = "User process fault: interruption code "
	code, e, ok := scan.Hex(line, at+len(word))
	if !ok || !scan.Has(line, e, " ilc:") {
		return false
	}
	length, e, ok := scan.Decimal(line, e+len(" ilc:"))
	if !ok || length > 3 || !scan.Has(line, e, " in ") || !s.fault(line, e, from, f) {
		return false
	}
	switch {
	case code == 4, code == 0x10, code == 0x11, 0x38 <= code && code <= 0x3b:
	case code <= 0xf, code == 0x13, code == 0x1b:
		f.Offset -= 2 * length
	default:
		return false
	}
	return true
}

// readFaultMIPS reads the instruction in the lines below the message of a fault on MIPS and LoongArch; `epc` stands at line[at]:
//
//	do_page_fault(): sending SIGSEGV to a.out for invalid read access from 00000000
//	epc = 77f4a3c4 in libc.so[77e3c000+16c000]
//	ra  = 00400638 in a.out[400000+1000]
//
// It may be the branch in whose delay slot the instruction is (__do_page_fault in arch/mips/mm/fault.c).
func readFaultMIPS(s *Search, line []byte, at, from int, f *Frame) bool {
	equals := at + len("epc")
	addr, e, ok := scan.Hex(line, equals+len(" = "))
	if !ok || !scan.Has(line, e, " in ") || at > from && scan.IsLetter(line[at-1]) || !s.fault(line, equals, from, f) {
		return false
	}
	f.fix(addr)
	return true
}

// fault reads the message of a fault from line[at] on.
func (s *Search) fault(line []byte, at, from int, f *Frame) bool {
	limit := min(len(line), at+maxFault)
	s.spendFast(limit - at)
	for i := at; s.spend(1); {
		n := bytes.Index(line[i:limit], inWord)
		if n < 0 || bytes.IndexByte(line[i+n:limit], '[') < 0 { // no mapping follows any of these words
			return false
		}
		i += n + len(inWord)
		if m := (faultMapping{}); m.read(s, line[:limit], i) {
			return m.frame(s, line, at, i, from, f)
		}
	}
	return false
}

// maxFault bounds, in bytes, how long the message of a fault is.
const maxFault = 512

// faultMapping is `NAME[OFFSET,START+SIZE]` or `NAME[START+SIZE]`.
type faultMapping struct {
	name, off           Span // off is empty in the second form
	offset, start, size uint64
	end                 int
}

func (m *faultMapping) read(s *Search, line []byte, i int) (ok bool) {
	open := bytes.IndexByte(line[i:min(len(line), i+maxToken+1)], '[')
	if open <= 0 || open > maxToken {
		return false
	}
	m.name = span(i, i+open)
	p := m.name.End + 1
	var e int
	if m.start, e, ok = scan.Hex(line, p); !ok {
		return false
	}
	if e < len(line) && line[e] == ',' {
		m.off, m.offset = span(p, e), m.start
		if m.start, e, ok = scan.Hex(line, e+1); !ok {
			return false
		}
	}
	if e >= len(line) || line[e] != '+' {
		return false
	}
	if m.size, e, ok = scan.Hex(line, e+1); !ok || e >= len(line) || line[e] != ']' || !s.spend(e-i) {
		return false
	}
	m.end = e + 1
	return true
}

// maxToken bounds the length of a file's name in bytes.
const maxToken = 256

// frame fills the frame of a fault whose message has its word at line[at] and the mapping at line[in].
func (m *faultMapping) frame(s *Search, line []byte, at, in, from int, f *Frame) bool {
	text := line[max(from, at):in]
	if fetches(text) || bytes.Contains(text, []byte(" orax:")) {
		return false // the mapping is that of data, or the signal frame is a bad one
	}
	*f = Frame{Whole: span(m.name.Start, m.end), Module: m.name, Off: m.off, Offset: m.offset, Space: symsrc.InFile, Convention: Exact}
	if ip, addr, ok := instruction(text); ok {
		f.Addr = span(ip.Start+in-len(text), ip.End+in-len(text))
		f.Whole.Start = f.Addr.Start
		inMapping := addr - m.start
		if addr < m.start || inMapping >= m.size || !m.off.Empty() && (m.offset-inMapping)&0xfff != 0 {
			return false
		}
		if m.off.Empty() {
			f.Off, f.Offset, f.Space = f.Addr, inMapping, symsrc.InText
		}
	}
	if f.Off.Empty() {
		return false // it stands in a list of registers
	}
	f.answer(s, line, m.end)
	return true
}

// instruction reads the address of the instruction with which a text begins: ` ip 00007f…`, ` ip:7f…`, ` nip 7f…`, ` = 7f…`.
func instruction(text []byte) (at Span, addr uint64, ok bool) {
	for _, word := range [...]string{" ip ", " ip:", " nip ", " = "} {
		if scan.Has(text, 0, word) {
			v, e, ok := scan.Hex(text, len(word))
			return span(len(word), e), v, ok
		}
	}
	return Span{}, 0, false
}

// fetches reports whether a message says that the instruction could not be fetched: bit 4 of the error code of x86's page faults, or
// arm64's class. The codes of traps, after a colon, are those of segments.
func fetches(text []byte) bool {
	const word, instructionFetch = " error ", 1 << 4
	if i := bytes.Index(text, []byte(word)); i >= 0 {
		code, _, _ := scan.Hex(text, i+len(word))
		return code&instructionFetch != 0
	}
	return bytes.Contains(text, []byte("IABT"))
}
