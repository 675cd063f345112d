package inflate

import (
	"encoding/binary"
	"io"
)

// refill brings the bit buffer to at least 56 bits, or to all that is left.
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

// drop takes n bits off the bit buffer; false where there are not so many.
func (s *Stream) drop(n uint) bool {
	if n > s.nbits {
		return false
	}
	s.bits >>= n
	s.nbits -= n
	return true
}

// header reads the header of a block (RFC 1951 §3.2.3), and the codes of one that has its own.
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

// storedHeader reads the length of a stored block, from the next whole byte on, and its complement.
func (s *Stream) storedHeader() error {
	s.drop(s.nbits & 7)
	s.pos -= int(s.nbits / 8) // give back what was read ahead
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

// fixedCodes makes the codes that need no description (RFC 1951 §3.2.6).
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

// lensOrder is the order of the lengths of the code of code lengths.
var lensOrder = [numLens]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamicCodes reads the lengths of a block's two codes, themselves in a code, and makes its tables (§3.2.7).
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

// codeLengths reads run-length coded code lengths.
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
		case 16: // the length before this, 3 to 6 times
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
