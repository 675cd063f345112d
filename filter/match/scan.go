package match

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Scan finds literals in a buffer. Of each literal four bytes are searched for, and the literals are divided into eight sets. table and
// class are the bytes of the sets twice: table has nibbles for the vector search (low and high nibble of the first byte, then of the second
// and so on), class has bytes for the rest.
type Scan struct {
	all   []chosen
	table [32 * Width]byte
	class [Width][256]byte
	n     int // literals
	// buckets are the literals by a hash of the first three of the bytes that are searched for, those of bucket h from starts[h] on. A
	// literal of fewer bytes, which anything may follow, is among wide instead.
	buckets []*chosen
	starts  [buckets + 1]uint16
	wide    []*chosen
	// filled are the fourth bytes that the literals of each bucket may have, by their low five bits, and all if there are wide ones: the search
	// stops at no other.
	filled [buckets]uint32
}

const (
	// Sets is the number of sets, the bits of a byte.
	Sets = 8
	// Width is how many bytes of a literal are searched for.
	Width = 4

	keyed      = 3 // bytes that a bucket is found by
	keyMask    = 1<<(8*keyed) - 1
	fourthBits = 1<<5 - 1
	bucketBits = 11
	buckets    = 1 << bucketBits
	// mostKeys is how many texts these may be, for a literal to be in the bucket of each.
	mostKeys = 256
)

// chosen is a literal, and the offset in it of the bytes that are searched for.
type chosen struct {
	literal *Literal
	number  int // of the literal
	at, set int
}

// NewScan returns the search for the literals that count in one of the states of when.
func NewScan(literals []Literal, when When) *Scan {
	s := &Scan{n: len(literals)}
	var all []chosen
	placed := true
	for i := range literals {
		if l := &literals[i]; l.When&when != 0 {
			all = append(all, chosen{literal: l, number: i})
			_, _, ok := l.Placed()
			placed = placed && ok
		}
	}
	if !placed {
		spread(all)
	}
	for _, c := range all {
		if placed {
			p := places[c.literal.Text]
			c.at, c.set = p.at, p.set
		}
		s.all = append(s.all, c)
		for pos := range Width {
			for _, b := range c.literal.Bytes(c.at + pos) {
				s.add(pos, b, 1<<c.set)
			}
		}
	}
	s.fill()
	return s
}

// fill puts the literals into their buckets.
func (s *Scan) fill() {
	type entry struct {
		bucket uint32
		of     *chosen
	}
	var entries []entry
	var keys []uint32
	var last [buckets]*chosen // that was put into each
	for i := range s.all {
		c := &s.all[i]
		if keys = c.keys(keys[:0]); len(keys) == 0 {
			s.wide = append(s.wide, c)
		}
		for _, key := range keys {
			if h := bucket(key); last[h] != c {
				last[h], entries = c, append(entries, entry{h, c})
			}
		}
	}
	for _, e := range entries {
		s.starts[e.bucket]++
	}
	for i := range s.starts[1:] {
		s.starts[i+1] += s.starts[i]
	}
	s.buckets = make([]*chosen, len(entries))
	for _, e := range slices.Backward(entries) {
		s.starts[e.bucket]--
		s.buckets[s.starts[e.bucket]] = e.of
	}
	for h := range s.filled {
		for _, c := range s.buckets[s.starts[h]:s.starts[h+1]] {
			for _, fourth := range c.literal.Bytes(c.at + keyed) {
				s.filled[h] |= 1 << (fourth & fourthBits)
			}
		}
		if len(s.wide) > 0 {
			s.filled[h] = math.MaxUint32
		}
	}
}

// keys appends what the bytes that a bucket is found by may be, nothing if that is too much.
func (c *chosen) keys(to []uint32) []uint32 {
	to = append(to, 0)
	for pos := range keyed {
		may := c.literal.Bytes(c.at + pos)
		n := len(to)
		if n*len(may) > mostKeys {
			return nil
		}
		for _, b := range may[1:] {
			for _, key := range to[:n] {
				to = append(to, key|uint32(b)<<(8*pos))
			}
		}
		for i := range n {
			to[i] |= uint32(may[0]) << (8 * pos)
		}
	}
	return to
}

// bucket returns the bucket of three bytes.
func bucket(key uint32) uint32 { return key * 0x9e3779b1 >> (32 - bucketBits) } // 2^32 divided by the golden ratio

// bucket returns the literals that may stand where the search stops at b[i:], but for the wide ones.
func (s *Scan) bucket(b []byte, i int) []*chosen {
	h := bucketAt(b, i)
	return s.buckets[s.starts[h]:s.starts[h+1]]
}

// fourAt returns the bytes that b[i:] begins with, the first one in the lowest bits. After the end of b a line break stands.
func fourAt(b []byte, i int) uint32 {
	if i+Width <= len(b) {
		return binary.LittleEndian.Uint32(b[i:])
	}
	var four [Width]byte
	for k := copy(four[:], b[i:]); k < Width; k++ {
		four[k] = '\n'
	}
	return binary.LittleEndian.Uint32(four[:])
}

// bucketAt returns the bucket of b[i:].
func bucketAt(b []byte, i int) uint32 { return bucket(fourAt(b, i) & keyMask) }

// fills reports whether a literal of its bucket may begin with four bytes.
func (s *Scan) fills(four uint32) bool {
	return s.filled[bucket(four&keyMask)]>>(four>>(8*keyed)&fourthBits)&1 != 0
}

// add puts a byte into the sets of bit, as that of a position.
func (s *Scan) add(pos int, c, bit byte) {
	s.class[pos][c] |= bit
	s.table[32*pos+int(c&15)] |= bit
	s.table[32*pos+16+int(c>>4)] |= bit
}

// Next returns the offset of a literal where it may mean something, or of a byte inside one, at or after from; −1 if there is none. The
// literal lies on one line, and so does the offset. b holds whole lines; only the last one may be without its end.
func (s *Scan) Next(b []byte, from int) int {
	var line asked
	i := s.next(b, from, &line)
	line.plain.release()
	return i
}

// next is Next. It asks literals about their line.
func (s *Scan) next(b []byte, from int, line *asked) int {
	for i := from; ; i++ {
		i += find(b[i:], s)
		if i >= len(b) {
			return -1
		}
		for _, c := range s.bucket(b, i) {
			if line.means(s, c, b, i) {
				return i
			}
		}
		for _, c := range s.wide {
			if line.means(s, c, b, i) {
				return i
			}
		}
	}
}

// Begins reports whether b ends in a literal of several bytes that needs a byte which has not come.
func (s *Scan) Begins(b []byte) bool {
	return slices.ContainsFunc(s.all, func(c chosen) bool {
		l := c.literal
		return l.After != Any && len(l.Text) > 1 && bytes.HasSuffix(b, []byte(l.Text))
	})
}

// asked is a line, some literals of which were asked whether they may mean something there.
type asked struct {
	begin, end int
	times      int
	plain      plain
	// hidden is whether a literal that references hide means something. inner is set for a line without its references.
	hidden answer
	inner  bool
}

// answer is one that was given, or was not asked for.
type answer uint8

const (
	unasked answer = iota
	no
	yes
)

// mostAsked is how many literals of a line are asked: one with more may mean something.
const mostAsked = 8

// means reports whether the literal whose bytes are searched for stands at b[i:] and may mean something.
func (a *asked) means(s *Scan, c *chosen, b []byte, i int) bool {
	l := c.literal
	switch {
	case !l.stands(b, i-c.at):
		return false
	case l.Hides:
		return a.hides(s, b, i-c.at)
	}
	return l.Fits == nil || a.fits(l, b, i-c.at)
}

// line returns the line that b[at] lies on.
func (a *asked) line(b []byte, at int) []byte {
	if at >= a.end {
		a.begin, a.end, a.times, a.plain.kind, a.hidden = lineStart(b, at), len(b), 0, unread, unasked
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			a.end = at + i
		}
	}
	return b[a.begin:a.end]
}

// fits asks the literal at b[at:] about its line.
func (a *asked) fits(l *Literal, b []byte, at int) bool {
	line := a.line(b, at)
	a.times++
	return a.times > mostAsked || l.fits(line, at-a.begin, &a.plain)
}

// hides reports whether the line that b[at] lies on holds a literal without its references.
func (a *asked) hides(s *Scan, b []byte, at int) bool {
	if a.inner {
		return false
	}
	line := a.line(b, at)
	if a.hidden == unasked {
		if a.plain.kind == unread {
			a.plain.read(line)
		}
		a.hidden = no
		inner := asked{inner: true}
		if a.plain.kind == kept || a.plain.kind == removed && s.next(a.plain.text, 0, &inner) >= 0 {
			a.hidden = yes
		}
		inner.plain.release()
	}
	return a.hidden == yes
}

// lineStart returns where the line begins that b[at] lies on, eight bytes at a time: bytes.LastIndexByte takes one.
func lineStart(b []byte, at int) int {
	const ones, highs, breaks = 0x0101010101010101, 0x8080808080808080, 0x0a0a0a0a0a0a0a0a
	for at >= 8 {
		x := binary.LittleEndian.Uint64(b[at-8:]) ^ breaks
		if (x-ones)&^x&highs != 0 {
			break
		}
		at -= 8
	}
	return bytes.LastIndexByte(b[:at], '\n') + 1
}

// Places are where the literals of a Scan stand in a line, by their numbers in its list.
type Places struct {
	of    [][]int32
	found []int
}

// Found returns the numbers of the literals that stand in the line, in their order.
func (p *Places) Found() []int { return p.found }

// Next returns the first place of a literal at or after from, −1 if there is none.
func (p *Places) Next(literal, from int) int {
	all := p.of[literal]
	if len(all) == 0 || int(all[len(all)-1]) < from {
		return -1
	}
	if int(all[0]) >= from {
		return int(all[0])
	}
	i, _ := slices.BinarySearch(all, int32(from))
	return int(all[i])
}

// Last returns the last place of a literal before an offset, −1 if there is none.
func (p *Places) Last(literal, before int) int {
	all := p.of[literal]
	if i, _ := slices.BinarySearch(all, int32(before)); i > 0 {
		return int(all[i-1])
	}
	return -1
}

// Find finds all places of the literals in a line, in one pass, whatever stands around them.
func (s *Scan) Find(line []byte, p *Places) {
	for len(p.of) < s.n {
		p.of = append(p.of, nil)
	}
	for _, i := range p.found {
		p.of[i] = p.of[i][:0]
	}
	p.found = p.found[:0]
	s.each(line, func(number, at int) {
		if len(p.of[number]) == 0 {
			p.found = append(p.found, number)
		}
		p.of[number] = append(p.of[number], int32(at))
	})
	slices.Sort(p.found)
}

// each calls found for each place of each literal in a line.
func (s *Scan) each(line []byte, found func(number, at int)) {
	for i := 0; ; i++ {
		i += find(line[i:], s)
		if i >= len(line) {
			return
		}
		for _, of := range [...][]*chosen{s.bucket(line, i), s.wide} {
			for _, c := range of {
				if c.literal.stands(line, i-c.at) {
					found(c.number, i-c.at)
				}
			}
		}
	}
}

// Stops returns at how many places of b the vector search leaves its loop. That is what the search costs in text that means nothing.
func (s *Scan) Stops(b []byte) (n int) {
	for i := range len(b) - Width + 1 {
		in := byte(0xff)
		for pos, c := range b[i : i+Width] {
			in &= s.table[32*pos+int(c&15)] & s.table[32*pos+16+int(c>>4)]
		}
		if in != 0 && s.fills(fourAt(b, i)) {
			n++
		}
	}
	return n
}

// at reports whether four bytes of a literal stand at b[i:], by the sets and by the buckets.
func (s *Scan) at(b []byte, i int) bool {
	four := fourAt(b, i)
	return s.class[0][byte(four)]&s.class[1][byte(four>>8)]&s.class[2][byte(four>>16)]&s.class[3][byte(four>>24)] != 0 && s.fills(four)
}

// findPortable returns the offset of the first four bytes that one of the sets has, or len(b).
func findPortable(b []byte, s *Scan) int {
	for i := range b {
		if s.class[0][b[i]] != 0 && s.at(b, i) {
			return i
		}
	}
	return len(b)
}
