package resolve

import (
	"bytes"
	"maps"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/prefix"
	"qss-filter/symsrc"
)

// Process is what the filter keeps of one process of the log, beside its address space.
type Process struct {
	Key     string
	Space   *ctxstate.Process
	Emitter emitter
	// dart is the build ID of a Dart program's library, and buildIDs are those that the log states of modules, by file name,
	// elsewhere than at their frames.
	dart     symsrc.BuildID
	buildIDs map[string]symsrc.BuildID
	// Sample is what stood before the last line of markup that said something of the space, where loggers had put something there.
	Sample []byte
}

// writer is what the loggers' prefixes name. Its lines tell of a process: its own, or the one that a header such as
// `==PID==ERROR:` or debuggerd's `pid: N, tid: N` has named last.
type writer struct {
	*Process
	// anonymous is set while nothing has named the process; the first header that does adopts what is known of it.
	anonymous bool
}

// Thread is one thread of a writer: stacks of threads may mix, their address space is one.
type Thread struct {
	*writer
	Stack stack
	// Lead is what loggers have put before its last line with a frame.
	Lead []byte
	// trampoline is set where the last frame was a signal trampoline: the next one was interrupted, and its address is exact.
	trampoline bool
	// shifted is set where the thread counts among those whose stack is being renumbered.
	shifted bool
}

// Over notes the answer of a frame on that line.
func (t *Thread) Over(line int, a *Answer) {
	t.Stack.Line, t.trampoline = line, a.trampoline
}

// maxBuildIDs bounds the build IDs remembered of all processes; beyond it all are forgotten.
const maxBuildIDs = 1 << 15

// maxOrigins bounds the writers, threads and processes remembered. Beyond it all are forgotten but for the address spaces,
// which have a bound of their own: a stack's numbers may begin again.
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
	// Shifted counts the threads whose stack is being renumbered.
	Shifted int
	// buildIDs counts those of all processes.
	buildIDs int
}

func newOrigins(by prefix.By) *Processes {
	o := &Processes{by: by, state: ctxstate.New()}
	o.forget()
	return o
}

// forget drops all but the address spaces.
func (o *Processes) forget() {
	o.byKey, o.writers, o.threads = map[string]*Process{}, map[string]*writer{}, map[string]*Thread{}
	o.last, o.lastKey, o.Shifted, o.buildIDs = nil, o.lastKey[:0], 0, 0
	o.Unnamed = o.find([]byte{0}, 0) // the key of lines that name neither process nor thread
}

// Thread returns the thread that a text is from, with its loggers' prefixes p. outer is the JSON object that the text is a string
// of, with the fields that say whose; both are nil for a line of its own.
func (o *Processes) Thread(p, outer *prefix.Prefix, outerLine, text []byte) *Thread {
	claimed := p.Claimed.Of(text)
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
	if len(claimed) == 0 {
		if pid, ok := prefix.Crashed(text[p.Start:p.End]); ok {
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

// find returns the thread of a key, whose first part is the writer's.
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

// named lets a line that names a process, whose key is o.claim, speak for those of its writer that follow.
func (o *Processes) named(t *Thread, adopt bool) {
	if t.Key == string(o.claim) {
		t.anonymous = false
		return
	}
	key := string(o.claim)
	known := o.byKey[key]
	if known == nil && t.anonymous && adopt {
		// What was said before belongs to the first process that says who it is.
		o.byKey[key], t.anonymous = t.Process, false
		t.Process.Key = key
		return
	}
	t.writer.Process, t.anonymous = o.process(key), false
}

// process returns what is kept of the process with that key.
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

// Handled counts the threads whose stacks are being renumbered, after a line of t.
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

// All returns the processes, by key.
func (o *Processes) All() []*Process {
	var list []*Process
	for _, key := range slices.Sorted(maps.Keys(o.byKey)) {
		if p := o.byKey[key]; p.Key == key {
			list = append(list, p)
		}
	}
	return list
}

// stack counts the numbers of one stack of frames: every number is the log's own plus the lines inserted so far, so
// gaps, late joins and stacks that do not begin at 0 stay right.
type stack struct {
	last  uint64
	Shift uint64
	begun bool
	// Line is that of the stack's last frame.
	Line int
}

// maxBetween is how many lines may stand between two frames of one stack, in formats without numbers.
const maxBetween = 3

// First reports whether a frame on that line is the first one of its stack.
func (s *stack) First(line int, numbered bool, number uint64) bool {
	if numbered {
		return number == 0
	}
	return s.Line == 0 || line-s.Line > maxBetween
}

// Number returns the number to print for the log's number n. One that is not above the last begins a new stack.
func (s *stack) Number(n uint64) uint64 {
	if !s.begun || n <= s.last {
		s.Shift = 0
	}
	s.begun, s.last = true, n
	return n + s.Shift
}

// Insert notes that a frame took k lines more than one.
func (s *stack) Insert(k int) { s.Shift += uint64(k) }
