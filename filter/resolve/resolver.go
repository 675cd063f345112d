// Package resolve finds the functions and source lines of frames. It has the processes of a log with their modules and mappings,
// asks the source of symbols, and remembers its answers. It renders nothing.
//
//	resolver.go  the Resolver
//	process.go   processes, the threads that write the log, and the stacks that they print
//	mappings.go  lists of mappings, of the log and from elsewhere
//	frame.go     the question of a frame
//	adjust.go    return addresses and exact addresses
//	resolve.go   modules, questions and answers; how long an answer holds
//	memo.go      the caches of answers
//	prefetch.go  answers that other cores prefetch
//	agree.go     answers that the log itself contradicts
//	proof.go     files that are this machine's own, and whether they are proven to be those that ran
//	weigh.go     what a stack and the machine code say of such files
//	outcome.go   what became of a frame, in the words of every output; counts of that
//	reason.go    why a frame has no name
//	summary.go   why the frames of a module have no names
//	resume.go    lines that bring a new Resolver to the state of this one
package resolve

import (
	"unsafe"

	"qss-filter/filter/prefix"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// Resolver finds the functions and source lines of the frames of one log.
type Resolver struct {
	opt Options
	// Processes are those of the log.
	Processes *Processes
	prober    symsrc.Prober // nil if the source is none
	memo      memo
	tally     Tally
	prefetch  prefetch
	live      map[uint64]*Process // lists of running processes, by their hash
	preload   *Process            // mappings for processes that state none; may be nil
	// Mapped is set once a list of mappings was read: absolute addresses count then.
	Mapped bool
	// Asked is the last question of a frame.
	Asked Asked
	// piece is the number of the piece of input at hand.
	piece  uint64
	intern []byte
	// proven counts what the proofs of all processes hold.
	proven proven
}

// Options are how frames are resolved.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// Adjust is how logged addresses are adjusted.
	Adjust Adjust
	// Maps, if not nil, returns the lists of mappings of the running processes that write the log.
	Maps func() [][]byte
	// By is what tells processes apart.
	By prefix.By
	// Broken is called with the description of a panic that a question caused.
	Broken func(fault string)
	// Own is set if the log is of programs that this filter has started: the files of this machine are theirs. Trust says how a user
	// has other files trusted, for reasons.
	Own   bool
	Trust string
}

// New returns a resolver for a log.
func New(o Options) *Resolver {
	r := &Resolver{opt: o, Processes: newProcesses(o.By)}
	r.memo.init()
	r.prober, _ = o.Symbols.(symsrc.Prober)
	return r
}

// Weights for Footprint, in bytes.
const (
	moduleWeight  = 600
	mappingWeight = 160      // also of the definition of a module
	processWeight = 1 << 10  // also of a thread, or a writer
	scratchWeight = 24 << 10 // the scratch memory for frames, once there was one
)

// Footprint returns about how many bytes of memory the resolver keeps between lines.
func (r *Resolver) Footprint() int {
	m, o := &r.memo, r.Processes
	n := o.state.Weight()*mappingWeight + (len(o.byKey)+len(o.writers)+len(o.threads))*processWeight
	n += m.answers.bytes + len(m.answers.slots)*int(unsafe.Sizeof(answerSlot{})) + len(m.absolute.slots)*int(unsafe.Sizeof(addressSlot{}))
	if len(m.answers.slots) > 0 {
		n += scratchWeight
	}
	return n + len(m.modules)*moduleWeight + m.bytes + m.symbolBytes + (len(m.symbols)+len(m.agreed)+len(m.refused))*answerWeight + r.proven.places*placeWeight
}

// Arrive notes that more of the log has come: files may have changed since.
func (r *Resolver) Arrive() {
	r.piece++
	r.prefetch.chunk()
}

// Ahead notes what follows the line at hand. Its frames are probably of t, and their answers may be prefetched.
func (r *Resolver) Ahead(rest []byte, t *Thread) { r.prefetch.at(rest, t) }

// Expect notes the thread of the frames that follow.
func (r *Resolver) Expect(t *Thread) { r.prefetch.of = t }

// Search sets which of the lines that follow may have frames.
func (r *Resolver) Search(candidates *stream.Scan, absolutes bool) {
	r.prefetch.candidates, r.prefetch.absolutes = candidates, absolutes
}

// Recover drops the prefetched answers after a panic.
func (r *Resolver) Recover() { clear(r.prefetch.pending) }
