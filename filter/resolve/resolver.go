// Package resolve finds the functions and source lines of frames. It has the processes of a log with their modules and mappings,
// asks the source of symbols, and remembers its answers. It renders nothing.
//
//	resolver.go    the Resolver, which puts the types below together
//	process.go     Processes, the threads that write the log, and the numbers of the stacks that they print
//	headline.go    what headlines say of the stacks below them
//	frame.go       what becomes of a frame
//	query.go       queries: which place of which module a frame means
//	rule.go        return addresses and exact addresses
//	trampoline.go  signal trampolines, after which an address is exact
//	mappings.go    lists of mappings, of the log and from elsewhere
//	answer.go      answers: asks for a place, unless the answer is known
//	modules.go     memo: modules and answers that are remembered, and how long an answer holds
//	memo.go        the tables of answers
//	kept.go        Kept: answers whose output is kept
//	source.go      source: symbols and machine code
//	prefetch.go    Prefetch: answers that other cores find ahead
//	proof.go       Proofs: whether files that are this machine's own are proven to be those that ran
//	ledger.go      what stacks say of them, in words
//	lines.go       lines of files that may be newer than the log
//	stack.go       the stacks that are evidence for that
//	weigh.go       weighing: what a stack and the machine code say of such files
//	board.go       the only program of a board, which has no mappings
//	java.go        Java: names of Java and Kotlin, by the maps of their build
//	javatrace.go   what the lines of one trace leave behind, and its frames in one map after the other
//	javaweigh.go   Evidence: which map the frames of a trace fit
//	outcome.go     what became of a frame, in the words of every output
//	reason.go      why a frame has no name
//	summary.go     Counts, and why the frames of a module have no names
//	resume.go      lines that bring a new Resolver to the state of this one
package resolve

import (
	"bytes"
	"unsafe"

	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
	"qss-filter/symsrc/sourcemap"
)

// Resolver finds the functions and source lines of the frames of one log.
type Resolver struct {
	// Processes are those of the log.
	Processes *Processes
	// Prefetch has other cores find answers ahead.
	Prefetch *Prefetch
	// Proofs decides which names may be printed.
	Proofs *Proofs
	// Java restores names of Java. It is nil if there are no maps.
	Java *Java
	// Counts counts what became of the frames.
	Counts Counts
	// Mapped is set once a list of mappings was read, or Seastar's words where its program is known: absolute addresses count then.
	Mapped bool
	// Asked is the last query of a frame.
	Asked Asked

	memo    memo
	lists   lists
	queries queries
	answers answers
	lines   lines
}

// Options are how frames are resolved.
type Options struct {
	// Symbols answers for addresses.
	Symbols symsrc.Source
	// Adjust is how logged addresses are adjusted.
	Adjust Adjust
	// Maps, if not nil, returns the lists of mappings of the running processes that write the log.
	Maps func() [][]byte
	// Fixed, if not nil, returns those at addresses where other programs may have code, too, which stacks must prove.
	Fixed func() [][]byte
	// Listing says how to name the mappings of a program that Maps leaves out, for reasons. It may be "".
	Listing string
	// By is what tells processes apart.
	By prefix.By
	// Broken is called with the description of a panic that a query caused.
	Broken func(fault string)
	// Ran reports whether a program that writes the log was seen with the file at that path. It is nil if the filter has started none.
	Ran func(path string) bool
	// Replaced reports whether such a program was seen with another file from that path. It is nil if Ran is.
	Replaced func(path string) bool
	// Named returns the path of the only file that such a program was seen with, by its path or the name of the file, and its build ID if it is not
	// there any more. They are "" if there is none. It is nil if Ran is.
	Named func(name string) (path string, id symsrc.BuildID)
	// Insist has files name frames although the log refutes them, or nothing proves them. The names are marked.
	Insist bool
	// Trust says how a user has the file of a module trusted, for reasons. It may be nil.
	Trust func(module string) string
	// Refuted is called with files that the user has pointed at, and what refutes them.
	Refuted func(files *symsrc.Files, why string)
	// Java are the maps of names of Java; nil for none.
	Java *javamap.Maps
	// Board is the program of the board that the log is of; nil for none.
	Board *symsrc.Board
	// Scripts are the maps of generated JavaScript; nil for none.
	Scripts *sourcemap.Maps
}

// New returns a resolver for a log.
func New(o Options) *Resolver {
	r := &Resolver{Processes: newProcesses(o.By)}
	r.memo.init()
	r.Counts.memo = &r.memo
	r.lists = lists{processes: r.Processes, running: o.Maps, fixed: o.Fixed, named: o.Named, listing: o.Listing}
	r.queries = queries{adjust: o.Adjust, memo: &r.memo, lists: &r.lists, board: o.Board}
	from := &source{symbols: o.Symbols, scripts: o.Scripts}
	from.prober, _ = o.Symbols.(symsrc.Prober)
	r.Prefetch = &Prefetch{Lines: new(parse.Ahead), memo: &r.memo, queries: &r.queries, source: from, broken: o.Broken}
	r.answers = answers{memo: &r.memo, queries: &r.queries, source: from, prefetch: r.Prefetch}
	if o.Java != nil {
		r.Java = &Java{maps: o.Java, memo: &r.memo, processes: r.Processes, insist: o.Insist}
	}
	r.Proofs = &Proofs{answers: &r.answers, processes: r.Processes, trust: o.Trust, insist: o.Insist, ran: o.Ran, replaced: o.Replaced, refuted: o.Refuted, listing: o.Listing}
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
	n += 8 * len(m.answers.were)
	if len(m.answers.slots) > 0 {
		n += scratchWeight
	}
	n += r.Proofs.places * placeWeight
	return n + len(m.modules)*moduleWeight + m.bytes + m.symbolBytes + (len(m.symbols)+len(m.agreed)+len(m.refused))*answerWeight
}

// Arrive notes that more of the log has come: files may have changed since.
func (r *Resolver) Arrive() {
	r.memo.piece++
	r.Prefetch.chunk()
}

// IsCurrent reports whether a is an answer that is not stale.
func (r *Resolver) IsCurrent(a *Answer) bool { return r.memo.isCurrent(a) }

// Module returns the module of that name and build ID.
func (r *Resolver) Module(name []byte, id symsrc.BuildID) *Module { return r.memo.module(name, id) }

// Preload reads a list of mappings for the processes of the log that state none themselves.
func (r *Resolver) Preload(list []byte) error {
	p := readList(list)
	if !p.Space.Listed() {
		return ErrNoMappings
	}
	r.lists.preload, r.Mapped = p, true
	return nil
}

// LacksMappings reports whether no mappings of t's process are known.
func (r *Resolver) LacksMappings(t *Thread) bool { return t.Space.Empty() && r.lists.preload == nil }

// ApplyListed applies a line of a list of mappings, or one that states a build ID. mapping is set for the former. file and id are
// set for the latter. words are those that the text holds.
func (r *Resolver) ApplyListed(t *Thread, text []byte, words match.Words, line int) (mapping bool, file string, id symsrc.BuildID) {
	if name, stated, ok := mappings.BuildID(text, words); ok {
		if id, file = stated, string(name); name == nil {
			file, t.dart = string(dartLibrary), id
		} else {
			r.Processes.addBuildID(t.Process, file, id)
		}
	}
	if words.Any(mappings.Words) && mappings.Heads(text) {
		t.Space.EndList()
	}
	if mapping = ReadMapping(t.Space, text, line); mapping {
		r.Mapped = true
	}
	return mapping, file, id
}

// NoteListed notes that absolute addresses count if a line has Seastar's words, and the only program is named of which these may be.
func (r *Resolver) NoteListed(line []byte) {
	if r.queries.board != nil && !r.Mapped && saysShard(line) {
		r.Mapped = true
	}
}

// saysShard reports whether a text has Seastar's words.
func saysShard(text []byte) bool {
	return bytes.Contains(text, onShard) || bytes.Contains(text, inShard)
}
