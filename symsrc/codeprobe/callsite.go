package codeprobe

import (
	"debug/elf"
	"encoding/binary"

	"qss-filter/symsrc"
)

// maxCall is the length of the longest call with what belongs to it: eight bytes before the return address.
const maxCall = 8

// callSite is what is known of the code before an address.
type callSite struct {
	f     *Code
	addr  uint64
	text  []byte // up to maxCall bytes that end at addr
	thumb bool   // the address said that it is Thumb code
}

// callDecoders tell whether a call ends at a site.
var callDecoders = map[elf.Machine]func(c *callSite) bool{
	elf.EM_X86_64:  callX86,
	elf.EM_386:     callX86,
	elf.EM_AARCH64: callAArch64,
	elf.EM_ARM:     callARM,
	elf.EM_RISCV:   callRISCV,
	elf.EM_S390:    callS390,
	elf.EM_PPC:     callPPC,
	elf.EM_PPC64:   callPPC,
	elf.EM_MIPS:    callMIPS,
}

// CallEndsAt reports whether a call ends at an address; see CallEndsAt.
func (f *Code) CallEndsAt(addr uint64, thumb bool) bool {
	decode := callDecoders[f.elf.Machine]
	if decode == nil {
		return false
	}
	c := callSite{f: f, addr: addr, text: f.elf.TextBefore(addr, maxCall), thumb: thumb}
	return decode(&c)
}

// Calls notes in p what calls there are around an address. It is false where there is no code.
func (f *Code) Calls(addr uint64, thumb bool, p *symsrc.Probe) bool {
	_, known := f.elf.Text(addr, 1)
	if !known {
		// The code may end with the call of a function that does not return.
		_, known = f.elf.Text(addr-1, 1)
	}
	if known && callDecoders[f.elf.Machine] != nil {
		returns, calls := f.CallEndsAt(addr, thumb), f.callMovedTo(addr)
		p.Known, p.Returns, p.Calls = true, returns, calls
	}
	return known
}

// callMovedTo reports whether an address is what the usual printers make of a return address: compiler-rt
// (sanitizer_stacktrace.h, GetPreviousInstructionPc), libunwindstack (RegsArm::GetPcAdjustment and others), and those that
// take one away on every machine, as valgrind and elfutils do.
func (f *Code) callMovedTo(addr uint64) bool {
	if f.CallEndsAt(addr+f.elf.Back(), false) {
		return true
	}
	return addr&1 != 0 && f.CallEndsAt(addr+1, false) || f.elf.Machine == elf.EM_ARM && f.CallEndsAt(addr+4, false)
}

// word reads the instruction of four bytes whose end lies so far before the address.
func (c *callSite) word(before int) (insn uint32, ok bool) {
	if before > len(c.text)-4 {
		return 0, false
	}
	return c.f.elf.CodeOrder().Uint32(c.text[len(c.text)-before-4:]), true
}

// half is word for instructions of two bytes.
func (c *callSite) half(before int) (insn uint16, ok bool) {
	if before > len(c.text)-2 {
		return 0, false
	}
	return c.f.elf.CodeOrder().Uint16(c.text[len(c.text)-before-2:]), true
}

// reaches reports whether a call of that target may be meant: there is code, or nobody can know before the file is linked.
func (c *callSite) reaches(target uint64) bool {
	if c.f.elf.Type == elf.ET_REL {
		return true
	}
	target = c.f.elf.Truncate(target)
	return target != c.addr && c.f.elf.IsText(target) // a call of what follows only asks where that is
}

// callX86 knows `call rel32` (E8) and `call r/m` (FF /2). Prefixes stand before these and need no look.
func callX86(c *callSite) bool {
	n := len(c.text)
	if n >= 5 && c.text[n-5] == 0xe8 {
		rel := int64(int32(binary.LittleEndian.Uint32(c.text[n-4:])))
		if c.reaches(c.addr + uint64(rel)) {
			return true
		}
	}
	for size := 2; size <= 7 && size <= n; size++ {
		b := c.text[n-size:]
		if b[0] == 0xff && b[1]>>3&7 == 2 && modRMLength(b[1:]) == size-1 {
			return true
		}
	}
	return false
}

// modRMLength is the length of an operand: the ModRM byte, an SIB byte and a displacement (Intel SDM 2, table 2-2).
func modRMLength(b []byte) int {
	mod, rm, n := b[0]>>6, b[0]&7, 1
	if mod == 3 {
		return n
	}
	base := rm
	if rm == 4 {
		if n++; len(b) < 2 {
			return n
		}
		base = b[1] & 7
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, base == 5:
		n += 4
	}
	return n
}

// callAArch64 knows BL and BLR, the latter with pointer authentication too.
func callAArch64(c *callSite) bool {
	insn, ok := c.word(0)
	switch {
	case !ok:
		return false
	case insn>>26 == 0x25: // bl
		return c.reaches(c.addr - 4 + uint64(int64(int32(insn<<6))>>4))
	}
	return insn&0xfffffc1f == 0xd63f0000 || insn&0xfefff800 == 0xd63f0800 // blr, blraa and the like
}

// callRISCV knows JAL and JALR that link to ra or t0, and their compressed forms.
func callRISCV(c *callSite) bool {
	half, ok := c.half(0)
	if !ok {
		return false
	}
	if insn, ok := c.word(0); ok && insn&3 == 3 {
		rd := insn >> 7 & 31
		switch insn & 0x7f {
		case 0x6f: // jal
			if (rd == 1 || rd == 5) && c.reaches(c.addr-4+jalOffset(insn)) && c.startsAt(4, lengthRISCV) {
				return true
			}
		case 0x67: // jalr
			if insn>>12&7 == 0 && (rd == 1 || rd == 5) && c.startsAt(4, lengthRISCV) {
				return true
			}
		}
	}
	short := half&0xf07f == 0x9002 && half&0xf80 != 0 || // c.jalr
		half&0xe003 == 0x2001 && !c.f.elf.Is64 // c.jal
	return short && c.startsAt(2, lengthRISCV)
}

// jalOffset is the distance that a JAL jumps: imm[20|10:1|11|19:12] (RISC-V ISA, "J-type").
func jalOffset(insn uint32) uint64 {
	v := insn>>31<<20 | insn>>12&0xff<<12 | insn>>20&1<<11 | insn>>21&0x3ff<<1
	return uint64(int64(int32(v<<11)) >> 11)
}
