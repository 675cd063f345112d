package parse

import (
	"bytes"
	"hash/maphash"
	"unsafe"

	"qss-filter/filter/frame"
)

// found remembers what texts have that were searched. Those who look ahead of a line, and then the line itself, ask for the same, and so does
// a stack that comes again. A text replaces the one in its slot.
type found struct {
	seed  maphash.Seed
	slots []*searched // by the hash of the text
	puts  int         // texts since there are so many slots
	last  searched    // the last one that is too long for a slot, or has too many frames
	bytes int         // of the texts in slots, and their frames
}

// searched is a text that was searched, and its frames.
type searched struct {
	text []byte
	// begin is where the program's own words begin.
	begin  int
	frames []frame.Frame
	spent  bool
}

const (
	// firstFound and mostFound are how many texts are remembered, which grows as texts come.
	firstFound  = 1 << 5
	mostFound   = 1 << 10
	foundGrowth = 4
	// maxFoundText bounds a text in a slot, in bytes, and maxSlotFound its frames. For maxFound frames of another the memory is kept, for more while
	// texts need a part of it, one of spareFound at least.
	maxFoundText = 512
	maxSlotFound = 4
	maxFound     = 256
	spareFound   = 4
)

// read returns the frames of a text, in which the program's own words begin at begin, until the next call. ahead may be nil.
func (k *found) read(search *frame.Search, ahead *Ahead, text []byte, begin int) *searched {
	if k.last.is(text, begin) {
		return &k.last
	}
	if len(text) == 0 || len(text) > maxFoundText {
		k.last.search(search, ahead, text, begin)
		return &k.last
	}
	slot := k.slot(text)
	if *slot == nil {
		*slot = new(searched)
	}
	is := *slot
	if is.is(text, begin) {
		return is
	}
	before := is.weight()
	is.search(search, ahead, text, begin)
	k.puts++
	if len(is.frames) > maxSlotFound {
		k.last, *is = *is, searched{}
		k.bytes -= before
		return &k.last
	}
	k.bytes += is.weight() - before
	return is
}

// is reports whether it is that text.
func (s *searched) is(text []byte, begin int) bool {
	return len(s.text) > 0 && s.begin == begin && bytes.Equal(s.text, text)
}

// slot returns the slot of a text.
func (k *found) slot(text []byte) **searched {
	if k.puts >= 2*len(k.slots) && len(k.slots) < mostFound {
		old := k.slots
		if k.slots, k.puts = make([]*searched, max(firstFound, foundGrowth*len(old))), 0; len(old) == 0 {
			k.seed = maphash.MakeSeed()
		}
		for _, is := range old {
			if is != nil {
				to := k.of(is.text)
				if *to != nil {
					k.bytes -= (*to).weight()
				}
				*to = is
			}
		}
	}
	return k.of(text)
}

// of returns the slot of a text in a table that is there.
func (k *found) of(text []byte) **searched {
	return &k.slots[maphash.Bytes(k.seed, text)&uint64(len(k.slots)-1)]
}

// search finds the frames of a text.
func (s *searched) search(search *frame.Search, ahead *Ahead, text []byte, begin int) {
	if cap(s.frames) > max(maxFound, spareFound*len(s.frames)) {
		s.frames = nil // the last text did not need it
	}
	s.text, s.frames = s.text[:0], s.frames[:0]
	known := false
	if s.spent = false; ahead != nil && begin == 0 {
		s.frames, known = ahead.take(s.frames, text)
	}
	if !known {
		search.Reset(text)
		search.Begin(begin)
		for fr := search.Next(0); fr != nil; fr = search.Next(fr.Whole.End) {
			s.frames = append(s.frames, *fr)
		}
		s.spent = search.Spent()
	}
	s.text, s.begin = append(s.text, text...), begin
}

// weight returns about how many bytes of memory the text and its frames take.
func (s *searched) weight() int {
	return cap(s.text) + cap(s.frames)*int(unsafe.Sizeof(frame.Frame{}))
}

// footprint returns about how many bytes of memory all texts take.
func (k *found) footprint() int {
	return len(k.slots)*int(unsafe.Sizeof(searched{})) + k.bytes + k.last.weight()
}
