package stream

import (
	"math/bits"

	"qss-filter/filter/scan"
)

// Scan finds literals in a buffer. table and class are the same set twice: table has nibbles for the vector search (low and high
// nibble of the first byte, then of the second), class has bytes for the rest.
type Scan struct {
	literals [8][]scan.Literal // by their sets
	table    [64]byte
	class    [2][256]byte
}

// NewScan returns the search for the literals that count in one of the states of when.
func NewScan(literals []scan.Literal, when scan.When) *Scan {
	s := &Scan{}
	for _, l := range literals {
		if l.When&when == 0 {
			continue
		}
		s.literals[l.Set] = append(s.literals[l.Set], l)
		bit := byte(1) << l.Set
		s.add(0, l.Text[l.Pair], bit)
		if l.Text == scan.AnyNumber {
			for c := byte('0'); c <= '9'; c++ {
				s.add(1, c, bit)
			}
			continue
		}
		s.add(1, l.Text[l.Pair+1], bit)
	}
	return s
}

// add puts a byte into the set of bit, at a position of the pair.
func (s *Scan) add(pos int, c, bit byte) {
	s.class[pos][c] |= bit
	s.table[32*pos+int(c&15)] |= bit
	s.table[32*pos+16+int(c>>4)] |= bit
}

// Next returns the offset of a literal, or of a byte inside one, at or after from; −1 if there is none. The literal
// lies on one line, and so does the offset.
func (s *Scan) Next(b []byte, from int) int {
	for i := from; ; i++ {
		i += findPair(b[i:], s)
		if i >= len(b)-1 {
			return -1
		}
		in := s.class[0][b[i]] & s.class[1][b[i+1]]
		for ; in != 0; in &= in - 1 {
			literals := s.literals[bits.TrailingZeros8(in)]
			for k := range literals {
				if at(&literals[k], b, i) {
					return i
				}
			}
		}
	}
}

// at reports whether the literal's pair at b[i] has the rest of the literal around it.
func at(l *scan.Literal, b []byte, i int) bool {
	if l.Text == scan.AnyNumber {
		return b[i] == '#' && b[i+1]-'0' <= 9
	}
	i -= l.Pair
	return i >= 0 && len(b)-i >= len(l.Text) && string(b[i:i+len(l.Text)]) == l.Text
}

// findPairPortable returns the offset of the first two bytes that begin a literal's pair, or len(b).
func findPairPortable(b []byte, s *Scan) int {
	for i := 0; i+1 < len(b); i++ {
		if in := s.class[0][b[i]]; in != 0 && in&s.class[1][b[i+1]] != 0 {
			return i
		}
	}
	return len(b)
}
