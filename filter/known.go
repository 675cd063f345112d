package filter

import (
	"bytes"
	"hash/maphash"

	"qss-filter/filter/scan"
)

// A log repeats its lines: the modules of a process that starts again and again, its mappings but for their addresses,
// and its frames. What a line of context says is therefore kept by its text, with what followed it last time; and what a
// line of presentation becomes, as long as the address space is the same. Only lines that are one good element, alone, are
// known. All others, and those whose effect has conditions that do not hold, are looked at in full.

const (
	knownLines = 1 << 12 // of context
	shownSlots = 1 << 13 // of what lines became, at most
	knownLine  = 512     // bytes of a line in it
	shownText  = 2048    // bytes of what a line becomes
	shownBytes = 4 << 20 // of what all lines of a table become
)

// The begins of the lines that may be known.
var (
	mmapStart   = []byte("{{{mmap:0x")
	moduleStart = []byte("{{{module:")
	resetStart  = []byte("{{{reset")
	frameStart  = []byte("{{{bt:")
)

// knownContext are context elements that were seen before, alone on their lines, with what they say.
type knownContext[T any] struct {
	seed  maphash.Seed
	slots []*knownElement[T] // by the hash of the text
	// last is the one that came last, first what stands for it before any did.
	last  *knownElement[T]
	first knownElement[T]
	// learned counts those in slots.
	learned int
}

// knownElement is one of them.
type knownElement[T any] struct {
	// text is the line with its end; of a mapping what stands behind its address.
	text []byte
	says T
	// next is what followed last time.
	next *knownElement[T]
}

func (c *knownContext[T]) init() {
	c.seed = maphash.MakeSeed()
	c.last = &c.first
}

// find returns the element that b begins with: what followed the last one last time, or else what is known of the first
// line of b, or else what learn makes of it. nil is an element that cannot be known.
func (c *knownContext[T]) find(b []byte, learn func(text []byte) (says T, ok bool)) *knownElement[T] {
	if k := c.last.next; k != nil && bytes.HasPrefix(b, k.text) {
		return k
	}
	text := b[:bytes.IndexByte(b, '\n')+1]
	if c.slots == nil {
		c.slots = make([]*knownElement[T], knownLines)
	}
	slot := &c.slots[maphash.Bytes(c.seed, text)%knownLines]
	if k := *slot; k != nil && bytes.Equal(k.text, text) {
		return k
	}
	if len(text) > knownLine {
		return nil
	}
	says, ok := learn(text)
	if !ok {
		return nil
	}
	if *slot == nil {
		c.learned++
	}
	*slot = &knownElement[T]{text: bytes.Clone(text), says: says}
	return *slot
}

// follow notes that k came.
func (c *knownContext[T]) follow(k *knownElement[T]) { c.last.next, c.last = k, k }

// shownLines are lines without context, with what they became in one generation of the address space.
type shownLines[T any] struct {
	seed  maphash.Seed
	slots []shownLine[T] // by the hash of the line
	bytes int            // of their texts
	vain  int            // lines that were not known, since there are so many slots
	// lines have been shown in a generation.
	generation, lines uint64
}

// shownLine is one of them.
type shownLine[T any] struct {
	generation uint64
	// text is the line, and behind length what it became.
	text   []byte
	length int
	// by is what else it needs to be so.
	by T
	// seen is the hash of the line that came last and is not kept: most lines come once.
	seen uint64
}

func (s *shownLines[T]) init() {
	s.seed = maphash.MakeSeed()
}

// slot returns the place of a line, and whether the same line was there last. Two slots are neighbours: of the lines that
// fall on one of them two are known.
func (s *shownLines[T]) slot(line []byte, generation uint64) (l *shownLine[T], again bool) {
	if s.vain >= 2*len(s.slots) && len(s.slots) < shownSlots {
		s.grow()
	}
	h := maphash.Bytes(s.seed, line)
	at := h & uint64(len(s.slots)-1)
	l = &s.slots[at]
	if l.is(line, generation) {
		return l, true
	}
	other := &s.slots[at^1]
	if other.is(line, generation) {
		return other, true
	}
	s.vain++
	if again = l.seen == h; again && l.generation == generation {
		*l, *other = *other, *l // which gives way
	}
	l.seen = h
	return l, again
}

// grow gives the table its first slots, or more of them, in which what is known stands as it did.
func (s *shownLines[T]) grow() {
	old := s.slots
	s.slots, s.vain = make([]shownLine[T], max(firstSlots, growth*len(old))), 0
	mask := uint64(len(s.slots) - 1)
	for i := range old {
		l := &old[i]
		if len(l.text) > l.length {
			if to := &s.slots[maphash.Bytes(s.seed, l.text[:l.length])&mask]; to.text == nil {
				to.generation, to.text, to.length, to.by = l.generation, l.text, l.length, l.by
			} else {
				s.bytes -= cap(l.text)
			}
		}
		if l.seen != 0 {
			s.slots[l.seen&mask].seen = l.seen
		}
	}
}

// is reports whether this is what is known of a line.
func (l *shownLine[T]) is(line []byte, generation uint64) bool {
	return l.generation == generation && len(l.text) > l.length && bytes.Equal(l.text[:l.length], line)
}

// became is what it became.
func (l *shownLine[T]) became() []byte { return l.text[l.length:] }

// keep notes what the line became whose slot l is.
func (s *shownLines[T]) keep(l *shownLine[T], line, became []byte, generation uint64, by T) {
	l.generation, l.length, l.by = generation, len(line), by
	s.bytes -= cap(l.text)
	l.text = append(append(l.text[:0], line...), became...)
	if s.bytes += cap(l.text); s.bytes > shownBytes {
		clear(s.slots)
		s.bytes = 0
	}
}

// settled reports whether a generation has lasted for some lines: frames of a process that is soon gone do not come again.
func (s *shownLines[T]) settled(generation uint64) bool {
	if s.generation != generation {
		s.generation, s.lines = generation, 0
	}
	s.lines++
	return s.lines > 16
}

// readFrame reads a line that is a bt element and nothing else, such as `{{{bt:0:0x7f52731c130:pc}}}`. typ is what stands
// behind the address, with its colon.
func readFrame(line []byte) (number, addr uint64, typ, end []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, frameStart)
	colon := bytes.IndexByte(rest, ':')
	if !ok || colon < 0 {
		return 0, 0, nil, nil, false
	}
	number, ok = scan.Number(rest[:colon], 10)
	addr, n, prefixed := scan.Address(rest, colon+1)
	if !ok || !prefixed {
		return 0, 0, nil, nil, false
	}
	if rest = rest[n:]; len(rest) > 3 && rest[0] == ':' {
		typ, rest = rest[:3], rest[3:]
	}
	end, ok = bytes.CutPrefix(rest, llvmClosing)
	return number, addr, typ, end, ok && (string(end) == "\n" || string(end) == "\r\n")
}
