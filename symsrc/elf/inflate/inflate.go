// Package inflate decodes DEFLATE (RFC 1951) and zlib (RFC 1950) data of a known uncompressed size into one slice, and only as far as
// needed.
//
// This suits compressed debug sections: their header has the size, the output stays in memory, so that no separate window is needed,
// and a reader of one unit does not have to inflate the data after it. The technique is that of libdeflate: a 64-bit bit buffer that is
// filled at most once per symbol, and tables whose entries contain everything about a symbol.
package inflate

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"qss-filter/symsrc/pages"
)

// Errors of a stream. A stream that ends too early returns io.ErrUnexpectedEOF.
var (
	ErrHeader  = errors.New("not a zlib header")
	ErrCorrupt = errors.New("corrupt deflate data")
	ErrSize    = errors.New("deflate data has an unexpected size")
)

// Stream decodes one piece of data. It is not safe for concurrent use.
type Stream struct {
	in  []byte
	out []byte
	pos int // number of bytes of in that were moved to bits
	n   int // number of valid bytes of out

	bits  uint64 // bit buffer, the next bit is the lowest one; bits from nbits on are zero between calls
	nbits uint

	state  state
	final  bool // the current block is the last one
	stored int  // remaining bytes of a stored block
	err    error

	codes *codes // nil until a block needs it, and at the end
}

// state says what is next in the input.
type state uint8

const (
	atHeader state = iota // the header of a block
	inStored              // bytes of a stored block
	inCodes               // symbols
	atEnd                 // nothing: the last block has ended
)

// New returns a Stream that decodes raw DEFLATE data to size bytes. It allocates the output at once, so the caller must limit the
// size; parts of a large output that are never written use only address space.
func New(in []byte, size int) *Stream {
	return &Stream{in: in, out: pages.Make(size)}
}

// NewZlib returns a Stream that decodes zlib data without a preset dictionary to size bytes. It does not verify the Adler-32 checksum
// after the data, which a reader of a prefix does not reach, and which would cost an eighth of the speed.
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

// To decodes at least the first n bytes, and returns the whole output, of which only Valid bytes are valid. If n is the size or more,
// it decodes to the end of the data, which must have exactly that size.
//
// It returns an error if n bytes cannot be decoded, or if the data is larger or smaller than the size. Bytes decoded before the error
// stay valid: a call for no more than these succeeds. The caller must not modify the output, because later data refers to it, but may
// read it while more is decoded.
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

// Valid returns the number of decoded bytes at the start of the output.
func (s *Stream) Valid() int { return s.n }

// step decodes a part of the input, until n bytes are decoded or the state changes.
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
		// Far from the ends of input and output, no bounds have to be checked for each symbol.
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

// endBlock ends a block, and the data after the last one.
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

// entry is an entry of a decoding table. The next bits of input, the first one lowest, are the index in the main table. It covers the
// codes of most symbols; for longer codes its entry refers to a subtable, whose index are the following bits.
//
// An entry is one of
//
//	literal    isLiteral | byte<<16 | codeBits
//	length     base<<16 | codeBits<<8 | codeBits+extraBits    (a length, a distance, or a symbol of the code length code)
//	end        isOther | isEnd | codeBits
//	subtable   isOther | isSub | start<<16 | subBits<<8 | mainBits
//	none       isOther
//
// so that the low byte is always the number of bits to remove from the bit buffer. Codes have at most 15 bits, extra bits at most 13.
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

	// A subtable contains at least two codes, and its index has the bits of the longest code beyond the main table.
	sizeLit  = 1<<mainLit + numLit/2<<(maxCodeBits-mainLit)
	sizeDist = 1<<mainDist + numDist/2<<(maxCodeBits-mainDist)
	sizeLens = 1 << mainLens
)

// codes holds the decoding tables of one block.
type codes struct {
	lit  [sizeLit]entry
	dist [sizeDist]entry
	lens [sizeLens]entry
	// fixed is set while lit and dist are the fixed codes of RFC 1951 §3.2.6.
	fixed bool
}

// The meanings of the symbols, as entries without the lengths of their codes (RFC 1951 §3.2.5). The symbols 286 and 287 and the
// distances 30 and 31 have fixed codes but no meaning.
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
	for i := range 28 { // after the first 8 lengths, every group of 4 has one more extra bit
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

// build builds the decoding table of the code in which the symbols have the given lengths, in bits, or no code for 0 (RFC 1951 §3.2.2).
// It returns false if the code is oversubscribed or incomplete; but, as in zlib and compress/flate, a code may have no symbols, or one
// symbol, whose code is then the bit 0.
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

// fill sets the entries whose index has the code in its low bits.
func fill(table []entry, code, codeBits int, symbol entry) {
	e := symbol + entry(codeBits)
	if symbol&(isLiteral|isOther) == 0 {
		e += entry(codeBits) << 8
	}
	for i := code; i < len(table); i += 1 << codeBits {
		table[i] = e
	}
}
