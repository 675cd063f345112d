// Package resolve finds what frames are. It knows the processes of a log with their modules and mappings, asks the source of symbols,
// and remembers its answers. It renders nothing.
//
//	resolver.go  the Resolver
//	process.go   processes, the threads that write, and the stacks that they print
//	mappings.go  lists of mappings, of the log and from elsewhere
//	frame.go     the question that a frame asks
//	adjust.go    return address or exact address
//	resolve.go   modules, questions and answers; how long an answer holds
//	memo.go      the tables of answers
//	prefetch.go  answers that other cores find ahead
//	agree.go     answers that the log itself contradicts
//	reason.go    why a frame has no name; summary.go, why a module's frames have none
//	resume.go    lines after which a new Resolver goes on where this one is
package resolve

import (
	"unsafe"

	"qss-filter/filter/prefix"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// Resolver finds what frames are: it knows the processes of a log, their modules and mappings, and remembers answers.
type Resolver struct {
	opt       Options
	Processes *Processes
	prober    symsrc.Prober // nil if the source is none
	memo      memo
	prefetch  prefetch
	live      map[uint64]*Process // lists of running processes, by their hash
	preload   *Process            // mappings for processes that state none; nil without
	Mapped    bool                // mappings were listed: absolute addresses count
	Asked     Asked
	// piece is the number of the piece of input at hand.
	piece  uint64
	intern []byte
}

// Options say how frames are resolved.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	Adjust  Adjust
	// Maps is Options.Maps.
	Maps func() [][]byte
	// By says what tells processes apart.
	By prefix.By
	// Broken is called after a panic over a question.
	Broken func(fault string)
}

func New(o Options) *Resolver {
	r := &Resolver{opt: o, Processes: newOrigins(o.By)}
	r.memo.init()
	r.prober, _ = o.Symbols.(symsrc.Prober)
	return r
}

const (
	moduleWeight  = 600
	mappingWeight = 160      // and a definition of a module
	processWeight = 1 << 10  // and a thread, or a writer
	scratchWeight = 24 << 10 // what frames are looked at with, once there was one
)

// Footprint returns about how many bytes of memory the resolver keeps between lines.
func (r *Resolver) Footprint() int {
	m, o := &r.memo, r.Processes
	n := o.state.Weight()*mappingWeight + (len(o.byKey)+len(o.writers)+len(o.threads))*processWeight
	n += m.answers.bytes + len(m.answers.slots)*int(unsafe.Sizeof(answerSlot{})) + len(m.absolute.slots)*int(unsafe.Sizeof(addressSlot{}))
	if len(m.answers.slots) > 0 {
		n += scratchWeight
	}
	return n + len(m.modules)*moduleWeight + m.bytes + m.symbolBytes + (len(m.symbols)+len(m.agreed))*answerWeight
}

// Arrive notes that more of the log has come: files may have changed since.
func (r *Resolver) Arrive() {
	r.piece++
	r.prefetch.chunk()
}

// Ahead says what follows the line at hand, whose frames are likely to be of t: their answers may be prefetched.
func (r *Resolver) Ahead(rest []byte, t *Thread) { r.prefetch.at(rest, t) }

// Expect says whose frames follow.
func (r *Resolver) Expect(t *Thread) { r.prefetch.of = t }

// Search says which of the lines that follow may have frames.
func (r *Resolver) Search(candidates *stream.Scan, absolutes bool) {
	r.prefetch.candidates, r.prefetch.absolutes = candidates, absolutes
}

// Recover forgets what is underway after a panic.
func (r *Resolver) Recover() { clear(r.prefetch.pending) }
