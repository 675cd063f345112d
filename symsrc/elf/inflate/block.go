package inflate

import (
	"encoding/binary"
	"io"
)

// refill fills the bit buffer to at least 56 bits, or with all remaining input.
func (s *Stream) refill() {
	if s.pos+8 <= len(s.in) {
		s.bits |= binary.LittleEndian.Uint64(s.in[s.pos:]) << s.nbits
		taken := (63 - s.nbits) >> 3
		s.pos += int(taken)
		s.nbits += taken * 8
		s.bits &= 1<<s.nbits - 1
		return
	}
	for s.nbits <= 56 && s.pos < len(s.in) {
		s.bits |= uint64(s.in[s.pos]) << s.nbits
		s.pos++
		s.nbits += 8
	}
}

// drop removes n bits from the bit buffer. It returns false if there are fewer.
func (s *Stream) drop(n uint) bool {
	if n > s.nbits {
		return false
	}
	s.bits >>= n
	s.nbits -= n
	return true
}

// header reads the header of a block (RFC 1951 §3.2.3) and sets up its codes.
func (s *Stream) header() error {
	s.refill()
	head := s.bits
	if !s.drop(3) {
		return io.ErrUnexpectedEOF
	}
	s.final = head&1 != 0
	switch head >> 1 & 3 {
	case 0:
		return s.storedHeader()
	case 1:
		s.fixedCodes()
	case 2:
		if err := s.dynamicCodes(); err != nil {
			return err
		}
	default:
		return ErrCorrupt
	}
	s.state = inCodes
	return nil
}

// storedHeader reads the length of a stored block and its complement, which begin at the next byte boundary (§3.2.4).
func (s *Stream) storedHeader() error {
	s.drop(s.nbits & 7)
	s.pos -= int(s.nbits / 8) // return the bytes in the bit buffer
	s.bits, s.nbits = 0, 0
	if len(s.in)-s.pos < 4 {
		return io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint16(s.in[s.pos:])
	if binary.LittleEndian.Uint16(s.in[s.pos+2:]) != ^n {
		return ErrCorrupt
	}
	s.pos += 4
	s.stored = int(n)
	s.state = inStored
	return nil
}

// fixedCodes builds the tables of the fixed codes (RFC 1951 §3.2.6).
func (s *Stream) fixedCodes() {
	if s.codes == nil {
		s.codes = new(codes)
	}
	if s.codes.fixed {
		return
	}
	var lengths [numLit]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	build(s.codes.lit[:], mainLit, lengths[:], litEntries[:])
	for i := range numDist {
		lengths[i] = 5
	}
	build(s.codes.dist[:], mainDist, lengths[:numDist], distEntries[:])
	s.codes.fixed = true
}

// lensOrder is the order in which the lengths of the code length code are stored (RFC 1951 §3.2.7).
var lensOrder = [numLens]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamicCodes reads the compressed lengths of a block's two codes, and builds their tables (RFC 1951 §3.2.7).
func (s *Stream) dynamicCodes() error {
	if s.codes == nil {
		s.codes = new(codes)
	}
	s.codes.fixed = false
	head := s.bits
	if !s.drop(14) {
		return io.ErrUnexpectedEOF
	}
	const maxLit, maxDist = 286, 30
	nlit, ndist, nlens := int(head&31)+257, int(head>>5&31)+1, int(head>>10&15)+4
	if nlit > maxLit || ndist > maxDist {
		return ErrCorrupt
	}
	var lensLengths [numLens]uint8
	for _, symbol := range lensOrder[:nlens] {
		s.refill()
		lensLengths[symbol] = uint8(s.bits & 7)
		if !s.drop(3) {
			return io.ErrUnexpectedEOF
		}
	}
	if !build(s.codes.lens[:], mainLens, lensLengths[:], lensEntries[:]) {
		return ErrCorrupt
	}
	var lengths [maxLit + maxDist]uint8
	if err := s.codeLengths(lengths[:nlit+ndist]); err != nil {
		return err
	}
	if !build(s.codes.lit[:], mainLit, lengths[:nlit], litEntries[:]) ||
		!build(s.codes.dist[:], mainDist, lengths[nlit:nlit+ndist], distEntries[:]) {
		return ErrCorrupt
	}
	return nil
}

// codeLengths reads run-length encoded code lengths.
func (s *Stream) codeLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		s.refill()
		e := s.codes.lens[s.bits&(sizeLens-1)]
		if e == isOther {
			return ErrCorrupt
		}
		if !s.drop(uint(e & 0xff)) {
			return io.ErrUnexpectedEOF
		}
		symbol := e >> 16
		if symbol < 16 {
			lengths[i] = uint8(symbol)
			i++
			continue
		}
		value, times, extra := uint8(0), 3, uint(3)
		switch symbol {
		case 16: // the previous length, 3 to 6 times
			if i == 0 {
				return ErrCorrupt
			}
			value, extra = lengths[i-1], 2
		case 18: // 0, 11 to 138 times; 17 is 0, 3 to 10 times
			times, extra = 11, 7
		}
		times += int(s.bits & (1<<extra - 1))
		if !s.drop(extra) {
			return io.ErrUnexpectedEOF
		}
		if times > len(lengths)-i {
			return ErrCorrupt
		}
		for range times {
			lengths[i] = value
			i++
		}
	}
	return nil
}

const (
	maxMatch = 258
	// One iteration of the fast loop reads at most roomIn bytes, in two loads, and writes at most roomOut bytes: two literals and
	// a match that is copied in pieces of 16 bytes.
	roomIn  = 16
	roomOut = 2 + maxMatch + 16
)

// carefulCodes decodes symbols one by one, also near the ends of input and output, until n bytes are decoded, the block ends, or the
// output is full. It reports whether the block ended.
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

// value returns a length or distance: its base plus the extra bits after its code. bits is the bit buffer from the code on.
func value(e entry, bits uint64) int {
	return int(e>>16) + int(bits&(1<<(e&0x3f)-1)>>(e>>8&15))
}

// noCode returns the error for bits that are not the code of a symbol.
func (s *Stream) noCode() error {
	if s.pos == len(s.in) && s.nbits < maxCodeBits {
		return io.ErrUnexpectedEOF // the bits may include zeros after the end
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

// fastCodes decodes symbols until n bytes are decoded, the block ends, or the end of the input or the output is near. It reports
// whether the block ended.
//
// One load fills the bit buffer to at least 56 bits. Two literals of the main table use up to 22 bits, and another load follows them;
// a length (15+5 bits) and a distance (15+13 bits) use up to 48. The next entry is looked up before the end of the loop is tested,
// to hide the latency of the table's memory.
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

// load fills the bit buffer to at least 56 bits. The bits above these, which a later load reads again, have their final values already.
func load(in []byte, pos int, buf uint64, nbuf uint32) (int, uint64, uint32) {
	buf |= binary.LittleEndian.Uint64(in[pos:]) << (nbuf & 63)
	return pos + int((63-nbuf)>>3&7), buf, nbuf | 56
}

// copyNear copies length bytes, at most maxMatch, from src to dst, which begins distance < 16 bytes after src: the copied bytes repeat.
// It may write up to 7 bytes more, for which dst must have room.
func copyNear(src, dst []byte, distance, length int) {
	switch {
	case distance >= 8:
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:]))
		}
	case distance == 1:
		v := uint64(src[0]) * 0x0101010101010101
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], v)
		}
	default:
		for i := range length {
			dst[i] = src[i]
		}
	}
}
