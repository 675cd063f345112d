package codeprobe

// callS390 knows BRASL, BRAS, BASR and BAS (z/Architecture, "General Instructions").
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

// callPPC knows BL, and the conditional ones by way of a register. `bcl 20,31` is how code asks where it is.
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

// callMIPS knows JAL, JALR and the branches that link, all with a delay slot, and those of release 6 without.
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
