package inflate

import (
	"encoding/binary"
	"io"
)

const (
	maxMatch = 258
	// In one round the fast loop reads at most roomIn bytes, two loads, and writes at most roomOut: two literals and a
	// match that is copied in pieces of 16.
	roomIn  = 16
	roomOut = 2 + maxMatch + 16
)

// carefulCodes decodes symbols one by one, anywhere in the data, until n bytes are out, the block ends or the output is
// full.
func (s *Stream) carefulCodes(n int) (end bool, err error) {
	for s.n < n || n >= len(s.out) {
		s.refill()
		e := s.codes.lit[s.bits&(1<<mainLit-1)]
		if e&(isOther|isSub) == isOther|isSub {
			if !s.drop(mainLit) {
				return false, io.ErrUnexpectedEOF
			}
			e = s.codes.lit[e>>16+entry(s.bits)&(1<<(e>>8&15)-1)]
		}
		before := s.bits
		if !s.drop(uint(e & 0xff)) {
			return false, io.ErrUnexpectedEOF
		}
		switch {
		case e&isLiteral != 0:
			if s.n == len(s.out) {
				return false, ErrSize
			}
			s.out[s.n] = byte(e >> 16)
			s.n++
		case e&isOther == 0:
			if err := s.carefulMatch(value(e, before)); err != nil {
				return false, err
			}
		case e&isEnd != 0:
			return true, nil
		default:
			return false, s.noCode()
		}
	}
	return false, nil
}

// value is that of a length or distance: its base and the extra bits behind its code in the bit buffer.
func value(e entry, bits uint64) int {
	return int(e>>16) + int(bits&(1<<(e&0x3f)-1)>>(e>>8&15))
}

// noCode is the error where the bits are no symbol's code.
func (s *Stream) noCode() error {
	if s.pos == len(s.in) && s.nbits < maxCodeBits {
		return io.ErrUnexpectedEOF // they may be zeros behind the end
	}
	return ErrCorrupt
}

// carefulMatch reads a distance and copies a match of the given length.
func (s *Stream) carefulMatch(length int) error {
	s.refill()
	e := s.codes.dist[s.bits&(1<<mainDist-1)]
	if e&(isOther|isSub) == isOther|isSub {
		if !s.drop(mainDist) {
			return io.ErrUnexpectedEOF
		}
		e = s.codes.dist[e>>16+entry(s.bits)&(1<<(e>>8&15)-1)]
	}
	before := s.bits
	if !s.drop(uint(e & 0xff)) {
		return io.ErrUnexpectedEOF
	}
	if e&isOther != 0 {
		return s.noCode()
	}
	distance := value(e, before)
	if distance > s.n {
		return ErrCorrupt
	}
	fits := min(length, len(s.out)-s.n)
	for range fits {
		s.out[s.n] = s.out[s.n-distance]
		s.n++
	}
	if fits < length {
		return ErrSize
	}
	return nil
}

// fastCodes decodes symbols until n bytes are out, the block ends, or input or output come near their ends.
//
// One load brings at least 56 bits. Two literals of the main table take up to 22, and are followed by another load; a
// length (15+5 bits) and a distance (15+13) take up to 48. The next entry is looked up before the loop's end is tested, so
// that the table's memory is waited for less.
func (s *Stream) fastCodes(n int) (end bool, err error) {
	in, out := s.in, s.out
	lastIn, lastOut := len(in)-roomIn, min(n, len(out)-roomOut+1)
	if s.pos > lastIn || s.n >= lastOut {
		return false, nil
	}
	lit, dist := &s.codes.lit, &s.codes.dist
	op := s.n
	pos, buf, nbuf := load(in, s.pos, s.bits, uint32(s.nbits)) // of nbuf only the lowest six bits count
	e := lit[buf&(1<<mainLit-1)]
	for {
		if e&isLiteral != 0 {
			buf >>= e & 63
			nbuf -= e
			out[op] = byte(e >> 16)
			op++
			e = lit[buf&(1<<mainLit-1)]
			if e&isLiteral != 0 {
				buf >>= e & 63
				nbuf -= e
				out[op] = byte(e >> 16)
				op++
				e = lit[buf&(1<<mainLit-1)]
			}
			pos, buf, nbuf = load(in, pos, buf, nbuf)
		}
		if e&isSub != 0 {
			buf >>= mainLit
			nbuf -= mainLit
			e = lit[e>>16+entry(buf)&(1<<(e>>8&15)-1)]
		}
		extra := buf
		buf >>= e & 63
		nbuf -= e
		if e&isLiteral != 0 {
			out[op] = byte(e >> 16)
			op++
		} else {
			if e&isOther != 0 {
				if end = e&isEnd != 0; !end {
					err = ErrCorrupt
				}
				break
			}
			length := value(e, extra)
			e = dist[buf&(1<<mainDist-1)]
			if e&isSub != 0 {
				buf >>= mainDist
				nbuf -= mainDist
				e = dist[e>>16+entry(buf)&(1<<(e>>8&15)-1)]
			}
			distance := value(e, buf)
			buf >>= e & 63
			nbuf -= e
			if e&isOther != 0 || distance > op {
				err = ErrCorrupt
				break
			}
			src, dst := out[op-distance:], out[op:]
			op += length
			if distance < 16 {
				copyNear(src, dst, distance, length)
				length = 0
			}
			for ; length > 0; length -= 16 {
				*(*[16]byte)(dst) = *(*[16]byte)(src)
				src, dst = src[16:], dst[16:]
			}
		}
		if pos > lastIn || op >= lastOut {
			break
		}
		pos, buf, nbuf = load(in, pos, buf, nbuf)
		e = lit[buf&(1<<mainLit-1)]
	}
	s.pos, s.n, s.nbits = pos, op, uint(nbuf&63)
	s.bits = buf & (1<<s.nbits - 1)
	return end, err
}

// load fills the bit buffer to 56 bits or more. What it holds above them already is the same as what it gets there later.
func load(in []byte, pos int, buf uint64, nbuf uint32) (int, uint64, uint32) {
	buf |= binary.LittleEndian.Uint64(in[pos:]) << (nbuf & 63)
	return pos + int((63-nbuf)>>3&7), buf, nbuf | 56
}
