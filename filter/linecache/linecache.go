// Package linecache knows again the lines that a log repeats: the modules of a process that starts again and again, its mappings
// except for their addresses, and its frames. The same bytes in the same state give the same bytes.
//
// Elements keeps what a line of context says, with what followed it last time. Outputs keeps what a line without context becomes,
// as long as the address space is the same. Only lines that are one good element, alone, belong in them; all others, and those
// whose effect has conditions that do not hold, are looked at in full.
package linecache

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

const (
	// MaxLine is the length of the longest line that is known, in bytes.
	MaxLine = 512
	// MaxText is the length of the longest output of a line that is known, in bytes.
	MaxText = 2048

	elementSlots = 1 << 12
	firstSlots   = 1 << 6  // of outputs
	growth       = 4       // by which the table of outputs grows
	mostSlots    = 1 << 13 // of outputs, at most
	mostBytes    = 4 << 20 // of all outputs of a table

	elementWeight = 640 // bytes of memory, about
)

// Elements are context elements that were seen before, alone on their lines, with what they say.
type Elements[T any] struct {
	seed  maphash.Seed
	slots []*Element[T] // by the hash of the text
	// last is the one that came last, first what stands for it before any did.
	last  *Element[T]
	first Element[T]
	// learned counts those in slots.
	learned int
}

// Element is one of them.
type Element[T any] struct {
	// Text is the line with its end; of a mapping what follows its address.
	Text []byte
	Says T
	// next is what followed last time.
	next *Element[T]
}

// Init makes the zero value ready.
func (c *Elements[T]) Init() {
	c.seed = maphash.MakeSeed()
	c.last = &c.first
}

// Find returns the element that b begins with: what followed the last one last time, otherwise what is known of the first
// line of b, otherwise what learn makes of it. nil is an element that cannot be known.
func (c *Elements[T]) Find(b []byte, learn func(text []byte) (says T, ok bool)) *Element[T] {
	if k := c.last.next; k != nil && bytes.HasPrefix(b, k.Text) {
		return k
	}
	text := b[:bytes.IndexByte(b, '\n')+1]
	if c.slots == nil {
		c.slots = make([]*Element[T], elementSlots)
	}
	slot := &c.slots[maphash.Bytes(c.seed, text)%elementSlots]
	if k := *slot; k != nil && bytes.Equal(k.Text, text) {
		return k
	}
	if len(text) > MaxLine {
		return nil
	}
	says, ok := learn(text)
	if !ok {
		return nil
	}
	if *slot == nil {
		c.learned++
	}
	*slot = &Element[T]{Text: bytes.Clone(text), Says: says}
	return *slot
}

// Follow notes that k came.
func (c *Elements[T]) Follow(k *Element[T]) { c.last.next, c.last = k, k }

// Footprint returns about how many bytes of memory the table takes.
func (c *Elements[T]) Footprint() int { return len(c.slots)*8 + c.learned*elementWeight }

// Outputs are lines without context, with what they became in one generation of the address space.
type Outputs[T any] struct {
	seed  maphash.Seed
	slots []Output[T] // by the hash of the line
	bytes int         // of their texts
	vain  int         // lines that were not known, since there are so many slots
	// lines have come in a generation.
	generation, lines uint64
}

// Output is one of them.
type Output[T any] struct {
	generation uint64
	// text is the line and, from length on, what it became.
	text   []byte
	length int
	// By is what else it depends on.
	By T
	// seen is the hash of the line that came last and is not kept: most lines come once.
	seen uint64
}

// Init makes the zero value ready.
func (s *Outputs[T]) Init() { s.seed = maphash.MakeSeed() }

// Slot returns the place of a line, and whether the same line was there last. Two slots are neighbors: of the lines that
// fall on one of them two are known.
func (s *Outputs[T]) Slot(line []byte, generation uint64) (l *Output[T], again bool) {
	if s.vain >= 2*len(s.slots) && len(s.slots) < mostSlots {
		s.grow()
	}
	h := maphash.Bytes(s.seed, line)
	at := h & uint64(len(s.slots)-1)
	l = &s.slots[at]
	if l.Is(line, generation) {
		return l, true
	}
	other := &s.slots[at^1]
	if other.Is(line, generation) {
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
func (s *Outputs[T]) grow() {
	old := s.slots
	s.slots, s.vain = make([]Output[T], max(firstSlots, growth*len(old))), 0
	mask := uint64(len(s.slots) - 1)
	for i := range old {
		l := &old[i]
		if len(l.text) > l.length {
			if to := &s.slots[maphash.Bytes(s.seed, l.text[:l.length])&mask]; to.text == nil {
				to.generation, to.text, to.length, to.By = l.generation, l.text, l.length, l.By
			} else {
				s.bytes -= cap(l.text)
			}
		}
		if l.seen != 0 {
			s.slots[l.seen&mask].seen = l.seen
		}
	}
}

// Is reports whether this is what is known of a line.
func (l *Output[T]) Is(line []byte, generation uint64) bool {
	return l.generation == generation && len(l.text) > l.length && bytes.Equal(l.text[:l.length], line)
}

// Text returns what the line became.
func (l *Output[T]) Text() []byte { return l.text[l.length:] }

// Keep notes what the line became whose slot l is.
func (s *Outputs[T]) Keep(l *Output[T], line, became []byte, generation uint64, by T) {
	l.generation, l.length, l.By = generation, len(line), by
	s.bytes -= cap(l.text)
	l.text = append(append(l.text[:0], line...), became...)
	if s.bytes += cap(l.text); s.bytes > mostBytes {
		clear(s.slots)
		s.bytes = 0
	}
}

// Settled reports whether a generation has lasted for some lines: frames of a process that is soon gone do not come again.
func (s *Outputs[T]) Settled(generation uint64) bool {
	if s.generation != generation {
		s.generation, s.lines = generation, 0
	}
	s.lines++
	return s.lines > 16
}

// Len returns the number of lines that are known.
func (s *Outputs[T]) Len() (n int) {
	for i := range s.slots {
		n += min(1, len(s.slots[i].text))
	}
	return n
}

// Footprint returns about how many bytes of memory the table takes.
func (s *Outputs[T]) Footprint() int { return len(s.slots)*int(unsafe.Sizeof(Output[T]{})) + s.bytes }
