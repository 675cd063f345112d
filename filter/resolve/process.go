package resolve

import (
	"bytes"
	"maps"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/prefix"
	"qss-filter/symsrc"
	"qss-filter/symsrc/javamap"
)

// Process is the state of one process of the log.
type Process struct {
	// Key identifies the process.
	Key string
	// Space is its address space.
	Space *ctxstate.Process
	// Emitter is the program that prints its frames.
	Emitter emitter
	// running is set for one of a list of Options.Maps, and fixed for one of Options.Fixed.
	running, fixed bool
	// dart is the build ID of a Dart program's library. buildIDs are the build IDs of modules, by file name, that the log states
	// elsewhere than at frames.
	dart     symsrc.BuildID
	buildIDs map[string]symsrc.BuildID
	// bases are modules by where they are mapped, of a log whose frames name them so.
	bases map[uint64]symsrc.Module
	// begins are where modules begin, by frames that have both an address of the process and one of the module.
	begins []beginning
	// images are modules by their numbers in a list of images, of a report in JSON whose frames name them so.
	images []symsrc.Module
	// profile is that whose locations the frames at hand are, nil for none.
	profile *mappings.Profile
	// loaded are the names of those that stand below the frames of their modules.
	loaded []string
	// reported is set after the headline of a crash report, until the report names the process.
	reported bool
	// used is the generation of the address space when a frame was last looked up in a list of mappings, 0 before that.
	used uint64
	// sample is the loggers' prefix of the last line that changed the address space, to this generation.
	sample     []byte
	generation uint64
	// javaMaps are the maps of names of Java that its frames have named.
	javaMaps []*javamap.Map
	// refutedMaps are those that a frame of the process contradicts, and how: all its frames are of another build.
	refutedMaps map[*javamap.Map]string
	// sum is the SHA-256 of the file of a board's program, or its begin, in hexadecimal digits. It is "" if the log has none.
	sum string
	// proofs are what is known of files that are not verified.
	proofs proofs
}

// writer is a process by the loggers' prefixes. Its lines are about a Process: itself, or the one that a header such as
// `==PID==ERROR:` or debuggerd's `pid: N, tid: N` has named last.
type writer struct {
	*Process
	// anonymous is set while nothing has named the process. The first header that does adopts its state.
	anonymous bool
}

// Thread is one thread of a writer. Stacks of threads may mix. They share an address space.
type Thread struct {
	*writer
	// Stack is the stack that the thread prints.
	Stack stack
	// lead is the loggers' prefix of its last line with a frame.
	lead []byte
	// trampoline is set if the last frame was a signal trampoline: the next one was interrupted, and its address is exact.
	trampoline bool
	// reduced is set if the emitter has taken 1 from the trampoline's address, and so from what was interrupted.
	reduced bool
	// above says what the last frame may have been.
	above above
	// top are the answers for the first frames of the stack at hand, of the numbers 0, 1, …, up to the first one without a name.
	top []*Answer
	// begun is the frame whose parts stand on lines of their own: the first one of its stack or not, and its build ID, nil before that.
	begun struct {
		first bool
		id    []byte
	}
	// fault is the address of the instruction of which a board's next backtrace is, or 0.
	fault uint64
	// java is the trace of Java that the thread prints; nil before the first.
	java *javaTrace
	// shifted is set if the thread is counted in Processes.Shifted.
	shifted bool
	// scripts is the last line of a stack of React Native's without the names of scripts, 0 for none.
	scripts int
}

// Answered notes that the thread has a frame with that answer on a line.
func (t *Thread) Answered(line int, a *Answer) {
	t.Stack.Line, t.trampoline, t.reduced = line, a.trampoline, a.trampoline && a.Back == further
	t.Emitter.frame(a)
	t.above.note(a, false, false)
}

// Numbered is Answered for a frame that has a number.
func (t *Thread) Numbered(line int, number uint64, a *Answer) {
	t.number(line, number, a, len(a.Frames) > 0)
	t.Answered(line, a)
}

// number notes the answer for a frame of that number on a line, which has names or not.
func (t *Thread) number(line int, number uint64, a *Answer, named bool) {
	if number < uint64(len(t.top)) || line > t.Stack.Line+maxLinesApart {
		t.top = t.top[:0]
	}
	if number == uint64(len(t.top)) && number < maxTop && named {
		t.top = append(t.top, a)
	}
}

const (
	// maxTop is how many frames of a stack are remembered.
	maxTop = 16
	// maxLinesApart is how many lines may stand between two of them, which the log itself names, or below the last one.
	maxLinesApart = 4
)

// Top returns the answers for the first frames, 16 at most and all with names, of the stack that ends before a line, none if that is too far.
func (t *Thread) Top(line int) []*Answer {
	if t.Stack.Line+maxLinesApart < line {
		return nil
	}
	return t.top
}

// Wrote notes the loggers' prefix of a line of the thread.
func (t *Thread) Wrote(prefix []byte, line int) {
	if t.Stack.Line == line {
		t.lead = append(t.lead[:0], prefix...)
	}
	if now := t.Space.Generation(); t.generation != now {
		t.sample, t.generation = append(t.sample[:0], prefix...), now
	}
}

// maxBuildIDs is how many build IDs of all processes are remembered. Beyond it all are forgotten.
const maxBuildIDs = 1 << 15

// maxOrigins is how many threads and processes are remembered. Beyond it all are forgotten except for the address spaces, which
// have a limit of their own. A stack's numbers may then begin again.
const maxOrigins = 1 << 13

// Processes are the writers, threads and processes of a log.
type Processes struct {
	by      prefix.By
	state   *ctxstate.State
	byKey   map[string]*Process
	writers map[string]*writer
	threads map[string]*Thread
	// Unnamed is the thread of lines without a prefix.
	Unnamed *Thread
	// last is the thread found last, and lastKey its key.
	last    *Thread
	lastKey []byte
	key     []byte
	claim   []byte
	// Shifted is the number of threads whose stack is being renumbered.
	Shifted int
	// stacked is the last line of the stacks that Thread.scripts is of, 0 for none.
	stacked int
	// open is the number of threads whose trace of Java is open.
	open int
	// buildIDs is the number of build IDs of all processes.
	buildIDs int
	// forgotten is how often all threads were forgotten.
	forgotten int
	// parts are of the frame that the last lines are parts of.
	parts parts
}

// newProcesses returns an empty set of processes that by tells apart.
func newProcesses(by prefix.By) *Processes {
	o := &Processes{by: by, state: ctxstate.New()}
	o.forget()
	return o
}

// forget drops everything except the address spaces.
func (o *Processes) forget() {
	o.byKey, o.writers, o.threads = map[string]*Process{}, map[string]*writer{}, map[string]*Thread{}
	o.last, o.lastKey, o.Shifted, o.open, o.buildIDs = nil, o.lastKey[:0], 0, 0, 0
	o.forgotten++
	o.parts = parts{}
	o.Unnamed = o.find([]byte{0}, 0) // the key of lines that name neither process nor thread
}

// Forgotten returns how often all threads were forgotten: one that was found before is none of the log's then.
func (o *Processes) Forgotten() int { return o.forgotten }

// Thread returns the thread that has written a text with the loggers' prefixes p. If the text is a string in a JSON object, outer
// has the prefixes of the object's line, outerLine. Otherwise both are nil. words are those that the text holds.
func (o *Processes) Thread(p, outer *prefix.Prefix, outerLine, text []byte, words match.Words) *Thread {
	claimed := p.Claimed.Of(text)
	at := prefix.Origin{Prefix: p, Line: text, Outer: outer, OuterLine: outerLine}
	t := o.Writer(p, outer, outerLine, text)
	if len(claimed) == 0 {
		if pid, ok := prefix.Crashed(text[p.Start:p.End], words); ok {
			claimed = pid.Of(text[p.Start:p.End])
		}
	}
	if len(claimed) > 0 && o.by != prefix.ByNone {
		at.Crashed = claimed
		o.claim = at.AppendKey(o.claim[:0], o.by)
		o.named(t, p.PID.Empty())
	}
	return t
}

// Writer is Thread for a text whose time has not come: what it says of processes does not count yet.
func (o *Processes) Writer(p, outer *prefix.Prefix, outerLine, text []byte) *Thread {
	p.Claimed = prefix.Span{}
	at := prefix.Origin{Prefix: p, Line: text, Outer: outer, OuterLine: outerLine}
	key := at.AppendKey(o.key[:0], o.by)
	writerLen := len(key)
	key = p.AppendThread(append(key, 0), text, o.by)
	o.key = key
	t := o.last
	if t == nil || !bytes.Equal(key, o.lastKey) {
		t = o.find(key, writerLen)
		o.last, o.lastKey = t, append(o.lastKey[:0], key...)
	}
	return t
}

// find returns the thread of a key. The first writerLen bytes are the writer's key.
func (o *Processes) find(key []byte, writerLen int) *Thread {
	t := o.threads[string(key)]
	if t != nil {
		return t
	}
	if len(o.threads)+len(o.byKey) >= maxOrigins {
		o.forget()
	}
	w := o.writers[string(key[:writerLen])]
	if w == nil {
		w = &writer{Process: o.process(string(key[:writerLen])), anonymous: true}
		o.writers[string(key[:writerLen])] = w
	}
	t = &Thread{writer: w}
	o.threads[string(key)] = t
	return t
}

// named notes that a line of t names a process, whose key is o.claim. The following lines of its writer are about that process.
func (o *Processes) named(t *Thread, adopt bool) {
	if t.Key == string(o.claim) {
		t.anonymous, t.reported = false, false
		return
	}
	key := string(o.claim)
	known := o.byKey[key]
	if known == nil && t.anonymous && adopt && !t.spent() {
		// The state so far belongs to the first process that is named.
		o.byKey[key], t.anonymous = t.Process, false
		t.Process.Key, t.reported = key, false
		return
	}
	before := t.writer.Process
	t.writer.Process, t.anonymous = o.process(key), false
	if before.reported { // the report's mappings stand above the process's ID
		before.reported = false
		t.Space.TakeList(before.Space)
		t.Restart()
	}
}

// spent reports whether a stack was looked up in the list of mappings that the process has printed last. Where the log says that
// another process begins, or whose stack is next, these mappings are not its own.
func (p *Process) spent() bool {
	return p.used != 0 && p.Space.Listed() && p.used == p.Space.Generation()
}

// process returns the process with that key.
func (o *Processes) process(key string) *Process {
	p := o.byKey[key]
	if p == nil {
		p = &Process{Key: key, Space: o.state.Process(key)}
		o.byKey[key] = p
	}
	return p
}

// addBuildID notes the build ID that the log states of a module of p, by the name of its file.
func (o *Processes) addBuildID(p *Process, name string, id symsrc.BuildID) {
	if o.buildIDs >= maxBuildIDs {
		for _, other := range o.byKey {
			other.buildIDs = nil
		}
		p.buildIDs, o.buildIDs = nil, 0
	}
	if p.buildIDs == nil {
		p.buildIDs = map[string]symsrc.BuildID{}
	}
	if _, known := p.buildIDs[name]; !known {
		o.buildIDs++
	}
	p.buildIDs[name] = id
}

// SetImages sets the modules by their numbers in a list of images.
func (p *Process) SetImages(images []symsrc.Module) { p.images = images }

// SetProfile sets the profile whose locations the next frames are, nil for none.
func (p *Process) SetProfile(of *mappings.Profile) { p.profile = of }

// AddLoaded notes the build IDs of modules whose frames stand above them, by the names of their files, until DropLoaded.
func (o *Processes) AddLoaded(p *Process, name string, id symsrc.BuildID) {
	o.addBuildID(p, name, id)
	p.loaded = append(p.loaded, name)
}

// DropLoaded forgets them: what follows is another report.
func (o *Processes) DropLoaded(p *Process) {
	for _, name := range p.loaded {
		delete(p.buildIDs, name)
	}
	o.buildIDs -= len(p.loaded)
	p.loaded = nil
}

// Handled updates Shifted after a line of t.
func (o *Processes) Handled(t *Thread) {
	if now := t.Stack.Shift > 0; now != t.shifted {
		t.shifted = now
		if now {
			o.Shifted++
		} else {
			o.Shifted--
		}
	}
}

// All returns the processes in the order of their keys.
func (o *Processes) All() []*Process {
	var list []*Process
	for _, key := range slices.Sorted(maps.Keys(o.byKey)) {
		if p := o.byKey[key]; p.Key == key {
			list = append(list, p)
		}
	}
	return list
}

// stack renumbers one stack of frames. Every number is the log's own plus the lines inserted so far: gaps, a late start of the
// log, and stacks that do not begin at 0 stay right.
type stack struct {
	last uint64
	// Shift is how many lines were inserted so far.
	Shift uint64
	begun bool
	// Line is the line of the stack's last frame, or 0.
	Line int
	// top is set if the next frame of a program is exact all the same, in formats whose frames stand on consecutive lines.
	top bool
	// listing is how far the log itself has listed the functions at an address, each in a frame of its own.
	listing struct {
		addr, number uint64
		line, n      int
	}
}

// Listed returns how many of the functions at an address the log has listed in the frames above one of that number on that line.
func (s *stack) Listed(addr, number uint64, line int) int {
	if l := &s.listing; l.n > 0 && l.addr == addr && l.number+1 == number && line-l.line <= maxBetween {
		return l.n
	}
	return 0
}

// List notes that the frame of that number on a line is the n-th of the functions at an address, 0 if the log lists none there.
func (s *stack) List(addr, number uint64, line, n int) {
	s.listing.addr, s.listing.number, s.listing.line, s.listing.n = addr, number, line, n
}

// isListing reports whether frames after a line may go on with the functions of an address.
func (s *stack) isListing(line int) bool { return s.listing.n > 0 && line-s.listing.line <= maxBetween }

// maxBetween is by how many lines two frames of one stack may be apart, in formats without numbers.
const maxBetween = 3

// First reports whether a frame on that line is the first one of its stack.
func (s *stack) First(line int, numbered bool, number uint64) bool {
	if numbered {
		return number == 0
	}
	return s.Line == 0 || line-s.Line > maxBetween
}

// Number returns the number to print for the log's number n. If n is not above the last one, a new stack begins.
func (s *stack) Number(n uint64) uint64 {
	if !s.begun || n <= s.last {
		s.Shift = 0
	}
	s.begun, s.last = true, n
	return n + s.Shift
}

// Insert notes that a frame took k lines in addition to its own.
func (s *stack) Insert(k int) { s.Shift += uint64(k) }
