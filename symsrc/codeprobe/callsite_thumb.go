package codeprobe

import (
	"cmp"
	"qss-filter/symsrc/elf"
	"slices"
	"sync"
)

// callARM knows the calls of both instruction sets; which one it is the address may say, or a mapping symbol.
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

// callA32 knows BL, BLX and the pair `mov lr, pc` and a jump.
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

// callThumb knows BL and BLX of four bytes, and BLX of a register.
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

// mappings tell where code of one instruction set, or data, begins: the symbols $a, $t and $d (ELF for the Arm
// Architecture, "Mapping symbols"). They are read when first asked for.
type mappings struct {
	once   sync.Once
	sorted []elf.Mapping
}

// instructionSet is the kind of what is at an address of an ARM file; 0 where the file does not tell.
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
