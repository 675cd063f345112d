package codeprobe

// walkBack is how far before an address the walk over instructions begins.
const walkBack = 128

// startsAt reports whether an instruction that ends at the site has that size: what looks like a short one may be the end of
// a longer one. The code is walked over from some place before, as length tells how long the instruction is that begins
// with a half-word; such a walk soon falls into step, wherever it begins. A walk that does not arrive tells nothing, and
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

// lengthRISCV: the lowest two bits of all but compressed instructions are ones.
func lengthRISCV(half uint16) int {
	if half&3 == 3 {
		return 4
	}
	return 2
}

// lengthThumb: 11101, 11110 and 11111 begin instructions of four bytes.
func lengthThumb(half uint16) int {
	if half>>11 >= 0x1d {
		return 4
	}
	return 2
}

// lengthS390: the first two bits tell.
func lengthS390(half uint16) int {
	switch half >> 14 {
	case 0:
		return 2
	case 3:
		return 6
	}
	return 4
}
