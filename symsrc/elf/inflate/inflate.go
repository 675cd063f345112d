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

// Done reports whether all of the output is decoded and the data ended there.
func (s *Stream) Done() bool { return s.state == atEnd && s.err == nil }

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
