package filter

import "unsafe"

// Weights of things, in bytes, with what the allocator and the tables that they are in add; measured, not counted.
const (
	answerWeight  = 640 // an answer with one frame, but for its texts
	frameWeight   = 160
	moduleWeight  = 600
	mappingWeight = 160     // and a definition of a module
	processWeight = 1 << 10 // and a thread, or a writer
	filterWeight  = 8 << 10
	scratchWeight = 24 << 10 // what frames are looked at with, once there was one
)

// Footprint returns about how many bytes of memory the filter keeps between lines: what it knows of processes, and what it remembers
// of lines and answers. What several filters share is not in it: the source, and the answers' own strings.
func (f *Filter) Footprint() int64 {
	m, o, q := &f.memo, f.origins, &f.quick
	n := filterWeight + o.state.Weight()*mappingWeight + (len(o.processes)+len(o.writers)+len(o.threads))*processWeight
	n += m.answers.bytes + len(m.answers.slots)*int(unsafe.Sizeof(answerSlot{})) + len(m.absolute.slots)*int(unsafe.Sizeof(absoluteSlot{}))
	if len(m.answers.slots) > 0 {
		n += scratchWeight
	}
	n += len(m.modules)*moduleWeight + m.bytes + m.symbolBytes + (len(m.symbols)+len(m.agreed))*answerWeight
	n += q.known.Footprint() + q.showed.Footprint() + q.tails.Footprint()
	n += cap(f.unquoted) + cap(f.strip) + 4*(cap(f.stripPos)+cap(f.unquotedPos)) + cap(f.stripped)
	if f.dedupe != nil {
		n += len(f.dedupe.seen) * 200
	}
	return int64(n)
}

// size is about how many bytes an answer takes.
func (a *answer) size() int {
	n := answerWeight + (len(a.known)+len(a.frames))*frameWeight
	for _, place := range a.places {
		n += cap(place)
	}
	for _, link := range a.links {
		n += len(link)
	}
	return n
}
