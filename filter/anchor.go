package filter

import (
	"bytes"
	"math/bits"
)

// anchor is a piece of text without which a line means nothing to the filter. The stream is searched for all of them
// in one pass; only lines that hold one are looked at.
type anchor struct {
	text string
	// pair is where in text the two bytes stand that the vector search looks for: the rarest ones.
	pair int
	// when tells that the anchor matters only in some states of the filter.
	when anchorSet
}

type anchorSet uint8

const (
	always      anchorSet = 1 << iota
	renumbering           // frames without a module count: their numbers move
	colouring             // the log's own colours must be known, to be restored behind ours
	asLLVM                // only markup counts, and the log's colours are rewritten
)

// anchors are at most eight: each is one bit of the vector search. The text "#0" stands for `#` and any digit.
var anchors = [...]anchor{
	{"{{{", 0, always | asLLVM},
	{"<<<", 0, always},
	{"+0x", 0, always},
	{"Sanitizer", 0, always},
	{"runtime error:", 9, always},
	{"offset=0x", 6, always},
	{"#0", 0, renumbering},
	{"\x1b[", 0, colouring | asLLVM},
}

// anchorScan finds anchors in a buffer. table and class are the same set twice: nibble tables for the vector search
// (low and high nibble of the first byte, then of the second), byte tables for the rest.
type anchorScan struct {
	set   anchorSet
	table [64]byte
	class [2][256]byte
}

func newAnchorScan(set anchorSet) *anchorScan {
	s := &anchorScan{set: set}
	for i, a := range anchors {
		if a.when&set == 0 {
			continue
		}
		bit := byte(1) << i
		first, second := a.text[a.pair], a.text[a.pair+1]
		s.add(0, first, bit)
		if a.text == "#0" {
			for c := byte('0'); c <= '9'; c++ {
				s.add(1, c, bit)
			}
			continue
		}
		s.add(1, second, bit)
	}
	return s
}

func (s *anchorScan) add(pos int, c, bit byte) {
	s.class[pos][c] |= bit
	s.table[32*pos+int(c&15)] |= bit
	s.table[32*pos+16+int(c>>4)] |= bit
}

// next gives the offset of an anchor, or of a byte inside one, at or after from; −1 where there is none. The anchor
// lies on one line, and so does the offset.
func (s *anchorScan) next(b []byte, from int) int {
	for i := from; ; i++ {
		i += findPair(b[i:], s)
		if i >= len(b)-1 {
			return -1
		}
		in := s.class[0][b[i]] & s.class[1][b[i+1]]
		for k := range anchors {
			if in&(1<<k) != 0 && anchors[k].at(b, i) {
				return i
			}
		}
	}
}

// at tells whether the anchor's pair at b[i] has the rest of the anchor around it.
func (a *anchor) at(b []byte, i int) bool {
	if a.text == "#0" {
		return true
	}
	i -= a.pair
	return i >= 0 && bytes.HasPrefix(b[i:], []byte(a.text))
}

// findPairPortable gives the offset of the first two bytes that begin an anchor's pair, or len(b). Blocks that hold none of the
// first bytes are left out with the vector search of package bytes.
func findPairPortable(b []byte, s *anchorScan) int {
	const block = 4096
	for i := 0; i < len(b); i += block {
		// One byte more than a block: a pair may straddle two.
		part := b[i:min(i+block+1, len(b))]
		found := len(part)
		for k, a := range anchors {
			if a.when&s.set == 0 {
				continue
			}
			if p := firstPair(part[:found], byte(1)<<k, s); p < found {
				found = p
			}
		}
		if found < len(part) {
			return i + found
		}
	}
	return len(b)
}

// firstPair gives the offset of the first pair of one anchor, or len(b).
func firstPair(b []byte, bit byte, s *anchorScan) int {
	first := anchors[bits.TrailingZeros8(bit)]
	c := first.text[first.pair]
	for i := 0; i+1 < len(b); i++ {
		k := bytes.IndexByte(b[i:len(b)-1], c)
		if k < 0 {
			return len(b)
		}
		i += k
		if s.class[1][b[i+1]]&bit != 0 {
			return i
		}
	}
	return len(b)
}
