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
	ways         = 8       // entries of a set of Outputs
	firstSets    = 1 << 3  // of Outputs, at first
	growth       = 4       // the factor by which Outputs grows
	mostSets     = 1 << 11 // of Outputs, at most
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
	sets  []set[T] // by the hash of the line
	bytes int      // of their texts
	vain  int      // lines that were not found since the table has this size
	// lines is how many lines have come in generation.
	generation, lines uint64
}

// set has the lines of some hashes. A table of single places, or of pairs, would have too many lines without one long before it is full.
type set[T any] struct {
	hashes [ways]uint64 // of the entries: a cache line
	// seen has the hashes of the last lines that were not found here. A line is kept when it comes again, since most lines come once.
	seen    [ways]uint64
	entries [ways]Output[T]
	// nextSeen and next are which of them is replaced next.
	nextSeen, next uint8
}

// Output is an entry of Outputs.
type Output[T any] struct {
	generation uint64
	// text is the line and its output, which begins at output and mostly ends in the line: then both are the same bytes.
	text   []byte
	length int32 // of the line
	output int32
	// By is what else the output depends on.
	By T
}

// Slot is where the output of a line may be kept.
type Slot[T any] struct {
	set  *set[T]
	hash uint64
}

// Init initializes an empty cache.
func (s *Outputs[T]) Init() { s.seed = maphash.MakeSeed() }

// Find returns the entry of a line, or nil.
func (s *Outputs[T]) Find(line []byte, generation uint64) *Output[T] {
	if len(s.sets) == 0 {
		return nil
	}
	h := maphash.Bytes(s.seed, line)
	in := s.of(h)
	for i, other := range &in.hashes {
		if other == h {
			if e := &in.entries[i]; e.is(line, generation) {
				return e
			}
		}
	}
	return nil
}

// of returns the set of a hash.
func (s *Outputs[T]) of(hash uint64) *set[T] { return &s.sets[hash&uint64(len(s.sets)-1)] }

// Slot returns the slot for a line that Find has not found, or whose output has changed. again is set if the line is one of the last
// that were not found.
func (s *Outputs[T]) Slot(line []byte, generation uint64) (slot Slot[T], again bool) {
	if s.vain >= ways*len(s.sets) && len(s.sets) < mostSets {
		s.grow()
	}
	h := maphash.Bytes(s.seed, line)
	slot = Slot[T]{s.of(h), h}
	for i, other := range &slot.set.hashes {
		if other == h && slot.set.entries[i].is(line, generation) { // what its output depends on has changed
			return slot, true
		}
	}
	s.vain++
	return slot, slot.set.again(h)
}

// again reports whether a line of that hash is one of the last that were not found, and makes it one.
func (in *set[T]) again(hash uint64) bool {
	for _, other := range &in.seen {
		if other == hash {
			return true
		}
	}
	in.seen[in.nextSeen] = hash
	in.nextSeen = (in.nextSeen + 1) % ways
	return false
}

// grow makes a table of more sets with the entries of the old one.
func (s *Outputs[T]) grow() {
	old := s.sets
	s.sets, s.vain = make([]set[T], max(firstSets, growth*len(old))), 0
	for i := range old {
		from := &old[i]
		for j, h := range &from.hashes {
			if from.entries[j].text != nil {
				to := s.of(h)
				to.hashes[to.next], to.entries[to.next] = h, from.entries[j]
				to.next = (to.next + 1) % ways
			}
			if h := from.seen[j]; h != 0 {
				s.of(h).again(h)
			}
		}
	}
}

// is reports whether e is the entry of a line in a generation.
func (e *Output[T]) is(line []byte, generation uint64) bool {
	if e.generation != generation || int(e.length) != len(line) || len(e.text) == 0 {
		return false
	}
	own := e.text[:e.length]
	if e.output == 0 {
		own = e.text[len(e.text)-len(line):]
	}
	return bytes.Equal(own, line)
}

// Text returns the output of the line.
func (e *Output[T]) Text() []byte { return e.text[e.output:] }

// Keep puts a line with its output in its slot.
func (s *Outputs[T]) Keep(slot Slot[T], line, output []byte, generation uint64, by T) {
	in := slot.set
	at := in.place(slot.hash, generation)
	in.hashes[at] = slot.hash
	e := &in.entries[at]
	e.generation, e.length, e.output, e.By = generation, int32(len(line)), 0, by
	s.bytes -= cap(e.text)
	e.text = e.text[:0]
	if !bytes.HasSuffix(output, line) {
		e.output = e.length
		e.text = append(e.text, line...)
	}
	e.text = append(e.text, output...)
	if s.bytes += cap(e.text); s.bytes > mostBytes {
		clear(s.sets)
		s.bytes = 0
	}
}

// place returns which entry of a set a line of that hash takes: its own, otherwise one of another generation, otherwise the next in turn.
func (in *set[T]) place(hash, generation uint64) int {
	for i, other := range &in.hashes {
		if other == hash {
			return i
		}
	}
	for i := range &in.entries {
		if in.entries[i].generation != generation {
			return i
		}
	}
	at := in.next
	in.next = (at + 1) % ways
	return int(at)
}

// Settled reports whether a generation has lasted for some lines. Frames of a process that ends soon do not come again.
func (s *Outputs[T]) Settled(generation uint64) bool {
	if s.generation != generation {
		s.generation, s.lines = generation, 0
	}
	s.lines++
	return s.lines > 16
}

// Most returns how many entries the table has room for.
func (s *Outputs[T]) Most() int { return ways * len(s.sets) }

// Len returns the number of entries.
func (s *Outputs[T]) Len() (n int) {
	for i := range s.sets {
		for j := range &s.sets[i].entries {
			n += min(1, len(s.sets[i].entries[j].text))
		}
	}
	return n
}

// Footprint returns about how many bytes of memory the table takes.
func (s *Outputs[T]) Footprint() int { return len(s.sets)*int(unsafe.Sizeof(set[T]{})) + s.bytes }
