package codeprobe

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// maxCall is the length of the longest call with what belongs to it: eight bytes before the return address.
const maxCall = 8

// callSite is what is known of the code before an address.
type callSite struct {
	f     *Code
	addr  uint64
	text  []byte // up to maxCall bytes that end at addr
	thumb bool   // the address said that it is Thumb code
	// target is what is called, if the call is direct.
	target uint64
}

// callDecoders report whether a call ends at a site.
var callDecoders = map[stdelf.Machine]func(c *callSite) bool{
	stdelf.EM_X86_64:  callX86,
	stdelf.EM_386:     callX86,
	stdelf.EM_AARCH64: callAArch64,
	stdelf.EM_ARM:     callARM,
	stdelf.EM_RISCV:   callRISCV,
	stdelf.EM_S390:    callS390,
	stdelf.EM_PPC:     callPPC,
	stdelf.EM_PPC64:   callPPC,
	stdelf.EM_MIPS:    callMIPS,
	stdelf.EM_XTENSA:  callXtensa,
}

// CallEndsAt reports whether a call ends at an address; see CallEndsAt.
func (f *Code) CallEndsAt(addr uint64, thumb bool) bool {
	c := callSite{f: f, addr: addr, thumb: thumb}
	return c.decode()
}

// decode reads the call.
func (c *callSite) decode() bool {
	decode := callDecoders[c.f.elf.Machine]
	if decode == nil {
		return false
	}
	c.text = c.f.elf.TextBefore(c.addr, maxCall)
	return decode(c)
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
	if f.CallEndsAt(addr+f.elf.CallDistance(), false) {
		return true
	}
	return addr&1 != 0 && f.CallEndsAt(addr+1, false) || f.elf.Machine == stdelf.EM_ARM && f.CallEndsAt(addr+4, false)
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

// reaches reports whether a call of that target may be meant: there is code, or it is not known before the file is linked.
func (c *callSite) reaches(target uint64) bool {
	if c.f.elf.Type == stdelf.ET_REL {
		return true
	}
	target = c.f.elf.Truncate(target)
	if target == c.addr || !c.f.elf.IsText(target) { // a call of what follows only finds out where that is
		return false
	}
	c.target = target
	return true
}

// callX86 recognizes `call rel32` (E8) and `call r/m` (FF /2). Prefixes come before these and do not matter.
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

// modRMLength returns the length of an operand: the ModRM byte, an SIB byte and a displacement (Intel SDM 2, table 2-2).
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

// callAArch64 recognizes BL and BLR, the latter with pointer authentication too.
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

// callRISCV recognizes JAL and JALR that link to ra or t0, and their compressed forms.
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

// jalOffset returns the distance that a JAL jumps: imm[20|10:1|11|19:12] (RISC-V ISA, "J-type").
func jalOffset(insn uint32) uint64 {
	v := insn>>31<<20 | insn>>12&0xff<<12 | insn>>20&1<<11 | insn>>21&0x3ff<<1
	return uint64(int64(int32(v<<11)) >> 11)
}

// walkBack is how far before an address the walk over instructions begins.
const walkBack = 128

// startsAt reports whether an instruction that ends at the site has that size: what looks like a short one may be the end of
// a longer one. The code is walked over from some place before, where length returns how long the instruction is that begins
// with a half-word; such a walk soon falls into step, wherever it begins. A walk that does not arrive shows nothing, and
// all that is known is that it looks like one.
func (c *callSite) startsAt(size int, length func(half uint16) int) bool {
	b := c.f.elf.TextBefore(c.addr, walkBack)
	b = b[len(b)&1:]
	for len(b) > 1 {
		n := length(c.f.elf.CodeOrder().Uint16(b))
		if n >= len(b) {
			return n == size || n > len(b)
		}
		b = b[n:]
	}
	return true
}

// lengthRISCV returns the length of an instruction in bytes: the lowest two bits of all but compressed ones are set.
func lengthRISCV(half uint16) int {
	if half&3 == 3 {
		return 4
	}
	return 2
}

// lengthThumb returns the length of an instruction in bytes: 11101, 11110 and 11111 begin those of four.
func lengthThumb(half uint16) int {
	if half>>11 >= 0x1d {
		return 4
	}
	return 2
}

// lengthS390 returns the length of an instruction in bytes, which its first two bits say.
func lengthS390(half uint16) int {
	switch half >> 14 {
	case 0:
		return 2
	case 3:
		return 6
	}
	return 4
}

// callARM recognizes the calls of both instruction sets; the address may show which one it is, or a mapping symbol.
func callARM(c *callSite) bool {
	switch c.f.instructionSet(c.addr - 2) {
	case 't':
		return callThumb(c)
	case 'a':
		return callA32(c)
	case 'd':
		return false
	}
	return callThumb(c) || !c.thumb && callA32(c)
}

// callA32 recognizes BL, BLX and the pair `mov lr, pc` and a jump.
func callA32(c *callSite) bool {
	insn, ok := c.word(0)
	if !ok || c.addr&3 != 0 {
		return false
	}
	switch {
	case insn>>25 == 0x7d: // blx label, half-word steps
		return c.reaches(c.addr + 4 + uint64(int64(int32(insn<<8))>>6) + uint64(insn>>23&2))
	case insn>>28 == 0xf:
		return false
	case insn>>24&0xf == 0xb: // bl
		return c.reaches(c.addr + 4 + uint64(int64(int32(insn<<8))>>6))
	case insn&0x0ffffff0 == 0x012fff30: // blx register
		return true
	}
	before, _ := c.word(4)
	return before&0x0fffffff == 0x01a0e00f // mov lr, pc
}

// callThumb recognizes BL and BLX of four bytes, and BLX of a register.
func callThumb(c *callSite) bool {
	low, ok := c.half(0)
	if !ok {
		return false
	}
	if low&0xff87 == 0x4780 || low&0xff87 == 0x4784 { // blx, blxns
		if c.startsAt(2, lengthThumb) {
			return true
		}
	}
	high, ok := c.half(2)
	if !ok || high>>11 != 0x1e || low>>14 != 3 || low>>12&1 == 0 && low&1 != 0 {
		return false
	}
	s, j1, j2 := uint32(high>>10&1), uint32(low>>13&1), uint32(low>>11&1)
	v := s<<24 | (^(j1^s)&1)<<23 | (^(j2^s)&1)<<22 | uint32(high&0x3ff)<<12 | uint32(low&0x7ff)<<1
	target := c.addr + uint64(int64(int32(v<<7))>>7)
	if low>>12&1 == 0 {
		target &^= 3
	}
	return c.reaches(target)
}

// mappings are where code of one instruction set, or data, begins: the symbols $a, $t and $d (ELF for the Arm
// Architecture, "Mapping symbols"). They are read when first asked for.
type mappings struct {
	once   sync.Once
	sorted []elf.Mapping
}

// instructionSet returns the kind of what is at an address of an ARM file; 0 where that is not known.
func (f *Code) instructionSet(addr uint64) byte {
	f.modes.once.Do(func() {
		if t := f.symtab(); t != nil {
			f.modes.sorted = t.Mappings()
		}
	})
	i, found := slices.BinarySearchFunc(f.modes.sorted, addr, func(m elf.Mapping, addr uint64) int { return cmp.Compare(m.Addr, addr) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return f.modes.sorted[i].Kind
}

// callS390 recognizes BRASL, BRAS, BASR and BAS (z/Architecture, "General Instructions").
func callS390(c *callSite) bool {
	n := len(c.text)
	at := func(size int) []byte {
		if n < size {
			return make([]byte, size)
		}
		return c.text[n-size:]
	}
	if b := at(6); b[0] == 0xc0 && b[1]&0xf == 5 { // brasl
		rel := int64(int32(uint32(b[2])<<24 | uint32(b[3])<<16 | uint32(b[4])<<8 | uint32(b[5])))
		if c.reaches(c.addr-6+uint64(2*rel)) && c.startsAt(6, lengthS390) {
			return true
		}
	}
	b := at(4)
	bras := b[0] == 0xa7 && b[1]&0xf == 5 && c.reaches(c.addr-4+uint64(2*int64(int16(uint16(b[2])<<8|uint16(b[3])))))
	if (bras || b[0] == 0x4d) && c.startsAt(4, lengthS390) { // bas
		return true
	}
	b = at(2)
	return b[0] == 0x0d && b[1]&0xf != 0 && c.startsAt(2, lengthS390) // basr
}

// callPPC recognizes BL, and the conditional ones by way of a register. `bcl 20,31` is how code asks where it is.
func callPPC(c *callSite) bool {
	insn, ok := c.word(0)
	switch {
	case !ok || insn&1 == 0:
		return false
	case insn>>26 == 18: // bl
		target := uint64(int64(int32(insn<<6))>>6) &^ 3
		if insn&2 == 0 {
			target += c.addr - 4
		}
		return c.reaches(target)
	case insn>>26 == 16: // bcl
		return insn&0xffff0003 != 0x429f0001
	}
	return insn>>26 == 19 && (insn>>1&0x3ff == 16 || insn>>1&0x3ff == 528) // bclrl, bcctrl
}

// callMIPS recognizes JAL, JALR and the branches that link, all with a delay slot, and those of release 6 without.
func callMIPS(c *callSite) bool {
	if insn, ok := c.word(4); ok {
		switch {
		case insn>>26 == 3: // jal
			return c.reaches((c.addr-4)&^(1<<28-1) | uint64(insn<<2&(1<<28-1)))
		case insn>>26 == 0 && insn&0x3f == 9 && insn>>11&31 != 0: // jalr
			return true
		case insn>>26 == 1 && insn>>16&0x1e == 0x10: // bltzal, bgezal
			return c.reaches(c.addr - 4 + uint64(int64(int16(insn))*4))
		}
	}
	insn, ok := c.word(0)
	const release6 = 9 // and 10: EF_MIPS_ARCH_32R6 and _64R6
	if arch := c.f.elf.Flags >> 28; !ok || arch != release6 && arch != release6+1 {
		return false
	}
	return insn>>26 == 0x3a || insn>>21 == 0x3e<<5 // balc, jialc
}

// callXtensa recognizes CALL0, CALL4, CALL8 and CALL12, and those by way of a register, all of three bytes (Xtensa ISA, "CALL0" and
// "CALLX0"). The configurations with calls of other lengths are big-endian.
func callXtensa(c *callSite) bool {
	n := len(c.text)
	if n < 3 || c.f.elf.Big {
		return false
	}
	b := c.text[n-3:]
	if b[0]&0xf == 5 { // call: 18 bits, in words, from the word of the next instruction on
		words := int32(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16) << 8 >> 14
		return c.reaches((c.addr-3)&^3 + 4 + uint64(int64(words)*4))
	}
	return b[0]&0xcf == 0xc0 && b[1]>>4 == 0 && b[2] == 0 // callx
}
