package filter

// anchor is a piece of text without which a line means nothing to the filter. The stream is searched for all of them
// in one pass; only lines that hold one are looked at.
type anchor struct {
	text string
	// pair is where in text the two bytes stand that the vector search looks for: rare ones.
	pair int
	// set is the vector search's set of pairs, 0 to 7. Anchors share one where neither the bytes of their pairs nor the
	// halves of these bytes make up other pairs that are frequent in logs.
	set uint8
	// when tells that the anchor matters only in some states of the filter.
	when anchorSet
}

type anchorSet uint8

const (
	always      anchorSet = 1 << iota
	renumbering           // frames without a module count: their numbers move
	absolute              // mappings of a process are known: absolute addresses count
	colouring             // the log's own colours must be known, to be restored behind ours
	asLLVM                // only markup counts, and the log's colours are rewritten
)

// anchors are what recognisers rely on. The text "#0" stands for `#` and any digit.
var anchors = [...]anchor{
	{"{{{", 0, 0, always | asLLVM},
	{"*** ***", 0, 0, always}, // Android's banner
	{"<<<", 0, 1, always},
	{"offset=0x", 6, 1, always},
	{"==Process memory map", 0, 1, always},
	{"[0x", 0, 1, always},
	{"+0x", 0, 2, always},
	{"+ 0x", 0, 2, always},
	{"Sanitizer", 0, 3, always},
	{"Backtrace:", 0, 3, always},
	{"runtime error:", 9, 4, always},
	{"[unknown] (", 7, 4, always},
	{" pc ", 1, 5, always},
	{"0x", 0, 5, absolute},
	{"<signal handler called>", 0, 6, absolute},
	{"#0", 0, 6, renumbering},
	{"\x1b[", 0, 7, colouring | asLLVM},
	{"r-x", 1, 7, always}, // /proc/PID/maps and its like
	{"build-id", 5, 7, always},
}

// anchorScan finds anchors in a buffer. table and class are the same set twice: nibble tables for the vector search
// (low and high nibble of the first byte, then of the second), byte tables for the rest.
type anchorScan struct {
	when  anchorSet
	table [64]byte
	class [2][256]byte
}

func newAnchorScan(when anchorSet) *anchorScan {
	s := &anchorScan{when: when}
	for _, a := range anchors {
		if a.when&when == 0 {
			continue
		}
		bit := byte(1) << a.set
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

// next returns the offset of an anchor, or of a byte inside one, at or after from; −1 where there is none. The anchor
// lies on one line, and so does the offset.
func (s *anchorScan) next(b []byte, from int) int {
	for i := from; ; i++ {
		i += findPair(b[i:], s)
		if i >= len(b)-1 {
			return -1
		}
		in := s.class[0][b[i]] & s.class[1][b[i+1]]
		for k := range anchors {
			a := &anchors[k]
			if in&(1<<a.set) != 0 && a.when&s.when != 0 && a.at(b, i) {
				return i
			}
		}
	}
}

// at reports whether the anchor's pair at b[i] has the rest of the anchor around it.
func (a *anchor) at(b []byte, i int) bool {
	if a.text == "#0" {
		return b[i] == '#' && b[i+1]-'0' <= 9
	}
	i -= a.pair
	return i >= 0 && len(b)-i >= len(a.text) && string(b[i:i+len(a.text)]) == a.text
}

// findPairPortable returns the offset of the first two bytes that begin an anchor's pair, or len(b).
func findPairPortable(b []byte, s *anchorScan) int {
	for i := 0; i+1 < len(b); i++ {
		if in := s.class[0][b[i]]; in != 0 && in&s.class[1][b[i+1]] != 0 {
			return i
		}
	}
	return len(b)
}
