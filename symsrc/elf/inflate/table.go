package inflate

import "math/bits"

// A code is decoded by a table that the next bits of input index, low bit first. The main table takes as many bits as
// most symbols have; where a longer code begins, its entry points at a subtable for the bits that follow.
//
// An entry is one of
//
//	literal    isLiteral | byte<<16 | codeBits
//	length     base<<16 | codeBits<<8 | codeBits+extraBits    (a length, a distance, or a symbol of the code of codes)
//	end        isOther | isEnd | codeBits
//	subtable   isOther | isSub | start<<16 | subBits<<8 | mainBits
//	none       isOther
//
// so that the low byte is always what to drop from the bit buffer. A code length is at most 15, extra bits at most 13.
type entry = uint32

const (
	isLiteral entry = 1 << 31
	isOther   entry = 1 << 15
	isSub     entry = 1 << 14
	isEnd     entry = 1 << 13

	maxCodeBits = 15
	mainLit     = 11
	mainDist    = 8
	mainLens    = 7

	numLit, numDist, numLens = 288, 32, 19

	// A subtable holds at least two codes, and no more bits than the longest code has beyond the main table.
	sizeLit  = 1<<mainLit + numLit/2<<(maxCodeBits-mainLit)
	sizeDist = 1<<mainDist + numDist/2<<(maxCodeBits-mainDist)
	sizeLens = 1 << mainLens
)

// codes are the tables of one block.
type codes struct {
	lit  [sizeLit]entry
	dist [sizeDist]entry
	lens [sizeLens]entry
	// fixed is set while lit and dist are those of RFC 1951 §3.2.6.
	fixed bool
}

// What the symbols stand for, as entries without the lengths of their codes (RFC 1951 §3.2.5). Symbols 286 and 287,
// distances 30 and 31 take part in the fixed codes but stand for nothing.
var (
	litEntries  = makeLitEntries()
	distEntries = makeDistEntries()
	lensEntries = makeLensEntries()
)

func makeLitEntries() (t [numLit]entry) {
	for i := range t {
		switch {
		case i < 256:
			t[i] = isLiteral | entry(i)<<16
		case i == 256:
			t[i] = isOther | isEnd
		default:
			t[i] = isOther
		}
	}
	length := entry(3)
	for i := range 28 { // after the first 8, each 4 have one extra bit more
		extra := max(i/4-1, 0)
		t[257+i] = length<<16 | entry(extra)
		length += 1 << extra
	}
	t[285] = 258 << 16
	return t
}

func makeDistEntries() (t [numDist]entry) {
	distance := entry(1)
	for i := range t {
		extra := max(i/2-1, 0)
		t[i] = distance<<16 | entry(extra)
		distance += 1 << extra
	}
	t[30], t[31] = isOther, isOther
	return t
}

func makeLensEntries() (t [numLens]entry) {
	for i := range t {
		t[i] = entry(i) << 16
	}
	return t
}

// build makes the table of the code whose symbols have the given lengths, in bits, 0 for none (RFC 1951 §3.2.2). It
// fails where the lengths want too many codes, or leave some unused; but, as with zlib and compress/flate, there may be
// no symbol, or just one, whose code is then a single 0.
func build(table []entry, mainBits int, lengths []uint8, symbols []entry) bool {
	var count [maxCodeBits + 1]int
	for _, l := range lengths {
		count[l&maxCodeBits]++
	}
	count[0] = 0
	longest := maxCodeBits
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	var next [maxCodeBits + 1]uint32 // the code of each length's next symbol
	code := uint32(0)
	for l := 1; l <= longest; l++ {
		code <<= 1
		next[l] = code
		code += uint32(count[l])
	}
	complete := code == 1<<longest && longest > 0
	single := code == 1 && longest == 1
	if !complete && !single && longest > 0 {
		return false
	}
	main := table[:1<<mainBits]
	if !complete || longest > mainBits {
		for i := range main {
			main[i] = isOther
		}
	}
	subBits := max(longest-mainBits, 0)
	free := 1 << mainBits
	for symbol, l := range lengths {
		if l == 0 {
			continue
		}
		reversed := int(bits.Reverse16(uint16(next[l&maxCodeBits])) >> (16 - l))
		next[l&maxCodeBits]++
		if int(l) <= mainBits {
			fill(main, reversed, int(l), symbols[symbol])
			continue
		}
		start := reversed & (1<<mainBits - 1)
		if main[start] == isOther {
			main[start] = isOther | isSub | entry(free)<<16 | entry(subBits)<<8 | entry(mainBits)
			free += 1 << subBits
		}
		sub := int(main[start] >> 16)
		fill(table[sub:sub+1<<subBits], reversed>>mainBits, int(l)-mainBits, symbols[symbol])
	}
	return true
}

// fill enters a symbol wherever the low bits of the index are its code.
func fill(table []entry, code, codeBits int, symbol entry) {
	e := symbol + entry(codeBits)
	if symbol&(isLiteral|isOther) == 0 {
		e += entry(codeBits) << 8
	}
	for i := code; i < len(table); i += 1 << codeBits {
		table[i] = e
	}
}
