// Package inflate decodes DEFLATE (RFC 1951) and zlib (RFC 1950) data of a known output size into one slice, only as far
// as its reader needs.
//
// That suits a compressed debug section: its header has the size, the whole output stays in memory, so there is no
// window to keep, and a reader that wants one unit need not inflate what lies behind it. The technique is that of
// libdeflate: a bit buffer of 64 bits that is filled once per symbol or less, and tables whose entries hold all that is to
// be known of a symbol.
package inflate

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Errors of a stream. A stream that ends too early returns io.ErrUnexpectedEOF.
var (
	ErrHeader  = errors.New("not a zlib header")
	ErrCorrupt = errors.New("corrupt deflate data")
	ErrSize    = errors.New("deflate data of another size than was said")
)

// Stream is the decoding of one piece of data. It is not safe for use by several goroutines at once.
type Stream struct {
	in  []byte
	out []byte
	pos int // bytes of in that went into bits
	n   int // bytes of out that are valid

	bits  uint64 // input not yet used, the next bit lowest; what lies above nbits is zero between calls
	nbits uint

	state  state
	final  bool // the block is the last
	stored int  // bytes left of a stored block
	err    error

	codes *codes // nil until a block needs it, and at the end
}

// state is what comes next in the input.
type state uint8

const (
	atHeader state = iota // of a block
	inStored              // bytes to copy
	inCodes               // symbols
	atEnd                 // nothing: the last block has ended, with all of the output or too little
)

// New begins to decode raw DEFLATE data of size bytes. The output is allocated at once, so the caller bounds the
// size; of a large one, what is not written to costs address space only.
func New(in []byte, size int) *Stream {
	return &Stream{in: in, out: make([]byte, size)}
}

// NewZlib begins to decode data with a zlib header; a preset dictionary is not supported. The Adler-32 sum that follows
// the data is not verified: a reader of a prefix never comes to it, and it would cost an eighth of the speed.
func NewZlib(in []byte, size int) (*Stream, error) {
	if len(in) < 2 {
		return nil, fmt.Errorf("%w: %d bytes", ErrHeader, len(in))
	}
	const deflate, maxWindow, dictionary = 8, 7, 0x20
	method, flags := in[0], in[1]
	if method&0xf != deflate || method>>4 > maxWindow || flags&dictionary != 0 || (uint(method)<<8|uint(flags))%31 != 0 {
		return nil, fmt.Errorf("%w: %#02x %#02x", ErrHeader, method, flags)
	}
	return New(in[2:], size), nil
}

// To decodes until at least the first n bytes of the output are valid, and returns the whole of it, of which later bytes
// may not be. To the full size and beyond means to the end of the data, which must come just there.
//
// An error means that n bytes cannot be had, or that the data does not end at the full size. What was decoded before
// the error stays: a call for no more than that still succeeds. The output may be used while decoding goes on, but not
// be written to: later data refers back to it.
func (s *Stream) To(n int) ([]byte, error) {
	for (n > s.n || n >= len(s.out)) && s.state != atEnd && s.err == nil {
		if s.err = s.step(n); s.err != nil {
			s.in, s.codes = nil, nil
		}
	}
	if n <= s.n && n < len(s.out) {
		return s.out, nil
	}
	return s.out, s.err
}

// Valid is the number of bytes at the start of the output that are decoded.
func (s *Stream) Valid() int { return s.n }

// step does what comes next in the input, until n bytes are out or the kind of input changes.
func (s *Stream) step(n int) error {
	switch s.state {
	case atHeader:
		return s.header()
	case inStored:
		k := copy(s.out[s.n:], s.in[s.pos:min(len(s.in), s.pos+s.stored)])
		s.pos += k
		s.n += k
		if s.stored -= k; s.stored == 0 {
			return s.endBlock()
		}
		if s.n == len(s.out) {
			return ErrSize
		}
		return io.ErrUnexpectedEOF
	default:
		// In the middle of the data there is room to read and write a symbol and more without looking.
		end, err := s.fastCodes(n)
		if !end && err == nil {
			end, err = s.carefulCodes(n)
		}
		if !end || err != nil {
			return err
		}
		return s.endBlock()
	}
}

// endBlock goes on to the next block, or ends.
func (s *Stream) endBlock() error {
	s.state = atHeader
	if !s.final {
		return nil
	}
	s.state = atEnd
	if s.n != len(s.out) {
		return fmt.Errorf("%w: %d bytes, not %d", ErrSize, s.n, len(s.out))
	}
	s.in, s.codes = nil, nil
	return nil
}

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
