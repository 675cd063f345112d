// Package linecache is a cache for the lines that a log repeats: the modules of a process that starts over and over, its mappings
// except for their addresses, and its frames. The same bytes in the same state have the same output.
//
// Elements has the meaning of lines with context, and which line followed each last time. Outputs has the output of lines without
// context, as long as the address space is the same. Elements takes only lines that are a single good element.
package linecache

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

// The beginnings of lines that may be in a cache.
var (
	// MMapStart begins a mapping, up to the digits of its address.
	MMapStart = []byte("{{{mmap:0x")
	// ModuleStart begins the definition of a module.
	ModuleStart = []byte("{{{module:")
	// ResetStart begins a reset.
	ResetStart = []byte("{{{reset")
	// BTStart begins a frame.
	BTStart = []byte("{{{bt:")
)

const (
	// MaxLine is the length of the longest line in a cache, in bytes.
	MaxLine = 512
	// MaxText is the length of the longest output in a cache, in bytes.
	MaxText = 2048

	elementSlots = 1 << 12
	firstSlots   = 1 << 6  // of Outputs, at first
	growth       = 4       // the factor by which Outputs grows
	mostSlots    = 1 << 13 // of Outputs, at most
	mostBytes    = 4 << 20 // of the texts of Outputs, at most

	elementWeight = 640 // about how many bytes of memory an Element takes
)

// Elements is a cache of context elements that are alone on their lines. T is the meaning of one.
type Elements[T any] struct {
	seed  maphash.Seed
	slots []*Element[T] // by the hash of the text
	// last is the element that came last. It is first before any came.
	last  *Element[T]
	first Element[T]
	// learned is the number of elements in slots.
	learned int
}

// Element is an entry of Elements.
type Element[T any] struct {
	// Text is the line with its end. For a mapping it is what follows the address.
	Text []byte
	// Says is the meaning of the line.
	Says T
	// next is the element that followed last time.
	next *Element[T]
}

// Init initializes an empty cache.
func (c *Elements[T]) Init() {
	c.seed = maphash.MakeSeed()
	c.last = &c.first
}

// Find returns the element that b begins with: the one that followed last time, otherwise the entry of the first line of b, and
// otherwise a new one with the meaning that learn returns. It is nil if there is no such meaning, or the line is too long.
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

// Follow notes that k came after the element of the last call.
func (c *Elements[T]) Follow(k *Element[T]) { c.last.next, c.last = k, k }

// Footprint returns about how many bytes of memory the table takes.
func (c *Elements[T]) Footprint() int { return len(c.slots)*8 + c.learned*elementWeight }

// Outputs is a cache of lines without context, with their output in one generation of the address space. T is what else an output
// depends on.
type Outputs[T any] struct {
	seed  maphash.Seed
	slots []Output[T] // by the hash of the line
	bytes int         // of their texts
	vain  int         // lines that were not found since the table has this size
	// lines is how many lines have come in generation.
	generation, lines uint64
}

// Output is an entry of Outputs.
type Output[T any] struct {
	generation uint64
	// text is the line and, from length on, its output.
	text   []byte
	length int
	// By is what else the output depends on.
	By T
	// seen is the hash of the last line that was not found here. A line is kept when it comes again, since most lines come once.
	seen uint64
}

// Init initializes an empty cache.
func (s *Outputs[T]) Init() { s.seed = maphash.MakeSeed() }

// Find returns the entry of a line, or nil.
func (s *Outputs[T]) Find(line []byte, generation uint64) *Output[T] {
	if len(s.slots) == 0 {
		return nil
	}
	at := maphash.Bytes(s.seed, line) & uint64(len(s.slots)-1)
	if l := &s.slots[at]; l.is(line, generation) {
		return l
	}
	if l := &s.slots[at^1]; l.is(line, generation) {
		return l
	}
	return nil
}

// Slot returns the slot for a line that Find has not found. again is set if the line was the last one that was not found there. Slots
// are neighbors in pairs, and a line may be in either.
func (s *Outputs[T]) Slot(line []byte, generation uint64) (l *Output[T], again bool) {
	if s.vain >= 2*len(s.slots) && len(s.slots) < mostSlots {
		s.grow()
	}
	h := maphash.Bytes(s.seed, line)
	at := h & uint64(len(s.slots)-1)
	l, other := &s.slots[at], &s.slots[at^1]
	switch {
	case l.is(line, generation): // what its output depends on has changed
		return l, true
	case other.is(line, generation):
		return other, true
	}
	s.vain++
	if again = l.seen == h; again && l.generation == generation {
		*l, *other = *other, *l // the entry of l is kept, the other one is replaced
	}
	l.seen = h
	return l, again
}

// grow makes a table of more slots with the entries of the old one.
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

// is reports whether l is the entry of a line in a generation.
func (l *Output[T]) is(line []byte, generation uint64) bool {
	return l.generation == generation && len(l.text) > l.length && bytes.Equal(l.text[:l.length], line)
}

// Text returns the output of the line.
func (l *Output[T]) Text() []byte { return l.text[l.length:] }

// Keep puts a line with its output in its slot l.
func (s *Outputs[T]) Keep(l *Output[T], line, output []byte, generation uint64, by T) {
	l.generation, l.length, l.By = generation, len(line), by
	s.bytes -= cap(l.text)
	l.text = append(append(l.text[:0], line...), output...)
	if s.bytes += cap(l.text); s.bytes > mostBytes {
		clear(s.slots)
		s.bytes = 0
	}
}

// Settled reports whether a generation has lasted for some lines. Frames of a process that ends soon do not come again.
func (s *Outputs[T]) Settled(generation uint64) bool {
	if s.generation != generation {
		s.generation, s.lines = generation, 0
	}
	s.lines++
	return s.lines > 16
}

// Len returns the number of entries.
func (s *Outputs[T]) Len() (n int) {
	for i := range s.slots {
		n += min(1, len(s.slots[i].text))
	}
	return n
}

// Footprint returns about how many bytes of memory the table takes.
func (s *Outputs[T]) Footprint() int { return len(s.slots)*int(unsafe.Sizeof(Output[T]{})) + s.bytes }
