package filter

import (
	"bytes"
	"maps"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/prefix"
	"qss-filter/symsrc"
)

// process is what the filter keeps of one process of the log, beside its address space.
type process struct {
	key     string
	space   *ctxstate.Process
	emitter emitter
	// dart is the build ID of a Dart program's library, and buildIDs are those that the log states of modules, by file name,
	// elsewhere than at their frames.
	dart     symsrc.BuildID
	buildIDs map[string]symsrc.BuildID
	// sample is what stood before the last line of markup that said something of the space, where loggers had put something there.
	sample []byte
}

// writer is whoever stands in the loggers' prefixes. Its lines tell of a process: its own, or the one that a header such as
// `==PID==ERROR:` or debuggerd's `pid: N, tid: N` has named last.
type writer struct {
	*process
	// anonymous is set while nothing has named the process; the first header that does adopts what is known of it.
	anonymous bool
}

// thread is one thread of a writer: stacks of threads may mix, their address space is one.
type thread struct {
	*writer
	stack stack
	// lead is what loggers have put before its last line with a frame.
	lead []byte
	// trampoline is set where the last frame was a signal trampoline: the next one was interrupted, and its address is exact.
	trampoline bool
	// shifted is set where the thread counts among those whose stack is being renumbered.
	shifted bool
}

// over notes the answer of a frame on that line.
func (t *thread) over(line int, a *answer) {
	t.stack.line, t.trampoline = line, a.trampoline
}

// maxOrigins bounds the writers, threads and processes remembered. Beyond it all are forgotten but for the address spaces,
// which have a bound of their own: a stack's numbers may begin anew.
const maxOrigins = 1 << 13

// origins are the writers, threads and processes of a log.
type origins struct {
	by        prefix.By
	state     *ctxstate.State
	reader    prefix.Reader
	long      bool          // headers of logcat -v long were met: lines without a prefix may be theirs
	prefix    prefix.Prefix // of the text at hand
	processes map[string]*process
	writers   map[string]*writer
	threads   map[string]*thread
	// nobody is the thread of lines without a prefix.
	nobody *thread
	// last is the thread found last, and lastKey its key.
	last    *thread
	lastKey []byte
	key     []byte
	claim   []byte
	// shifted counts the threads whose stack is being renumbered.
	shifted int
	// buildIDs counts those of all processes.
	buildIDs int
}

func newOrigins(by prefix.By) *origins {
	o := &origins{by: by, state: ctxstate.New()}
	o.forget()
	return o
}

// forget drops all but the address spaces.
func (o *origins) forget() {
	o.processes, o.writers, o.threads = map[string]*process{}, map[string]*writer{}, map[string]*thread{}
	o.last, o.lastKey, o.shifted, o.buildIDs = nil, o.lastKey[:0], 0, 0
	o.nobody = o.thread([]byte{0}, 0) // the key of lines that name neither process nor thread
}

// of returns the thread that a text is from, and its loggers' prefixes. outer is the JSON object that the text is a string
// of, with the fields that say whose; both are nil for a line of its own.
func (o *origins) of(outer *prefix.Prefix, outerLine, text []byte) (*thread, *prefix.Prefix) {
	o.prefix = o.reader.Read(text)
	p := &o.prefix
	o.long = o.long || p.Kind == prefix.LogcatLong
	claimed := p.Claimed.Of(text)
	p.Claimed = prefix.Span{}
	at := prefix.Origin{Prefix: p, Line: text, Outer: outer, OuterLine: outerLine}
	key := at.AppendKey(o.key[:0], o.by)
	writerLen := len(key)
	key = p.AppendThread(append(key, 0), text, o.by)
	o.key = key
	t := o.last
	if t == nil || !bytes.Equal(key, o.lastKey) {
		t = o.thread(key, writerLen)
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
	return t, p
}

// recent is how much of the text that passes is looked at for headers: the last message of logcat -v long.
const recent = 4 << 10

// passed looks at lines that hold nothing of interest but, perhaps, the header of logcat -v long, which stands on a line of
// its own above the lines of its process.
func (o *origins) passed(lines []byte) {
	if n := len(lines) - recent; n > 0 {
		lines = lines[n+bytes.IndexByte(lines[n:], '\n')+1:]
	}
	if !o.long && !bytes.Contains(lines, longHeader) {
		return
	}
	for len(lines) > 0 {
		n := bytes.IndexByte(lines, '\n') + 1
		if n == 0 {
			n = len(lines)
		}
		if body, _ := cutEnd(lines[:n]); len(body) == 0 || prefix.IsHeader(body) {
			o.long = true
			o.reader.Read(body)
		}
		lines = lines[n:]
	}
}

var longHeader = []byte("[ ")

// thread returns the thread of a key, whose first part is the writer's.
func (o *origins) thread(key []byte, writerLen int) *thread {
	t := o.threads[string(key)]
	if t != nil {
		return t
	}
	if len(o.threads)+len(o.processes) >= maxOrigins {
		o.forget()
	}
	w := o.writers[string(key[:writerLen])]
	if w == nil {
		w = &writer{process: o.process(string(key[:writerLen])), anonymous: true}
		o.writers[string(key[:writerLen])] = w
	}
	t = &thread{writer: w}
	o.threads[string(key)] = t
	return t
}

// named lets a line that names a process, whose key is o.claim, speak for those of its writer that follow.
func (o *origins) named(t *thread, adopt bool) {
	if t.key == string(o.claim) {
		t.anonymous = false
		return
	}
	key := string(o.claim)
	known := o.processes[key]
	if known == nil && t.anonymous && adopt {
		// What was said before belongs to the first process that says who it is.
		o.processes[key], t.anonymous = t.process, false
		t.process.key = key
		return
	}
	t.writer.process, t.anonymous = o.process(key), false
}

// process returns what is kept of the process with that key.
func (o *origins) process(key string) *process {
	p := o.processes[key]
	if p == nil {
		p = &process{key: key, space: o.state.Process(key)}
		o.processes[key] = p
	}
	return p
}

// addBuildID notes the build ID that the log states of a module of p, by the name of its file.
func (o *origins) addBuildID(p *process, name string, id symsrc.BuildID) {
	if o.buildIDs >= maxBuildIDs {
		for _, other := range o.processes {
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

// handled counts the threads whose stacks are being renumbered, after a line of t.
func (o *origins) handled(t *thread) {
	if now := t.stack.shift > 0; now != t.shifted {
		t.shifted = now
		if now {
			o.shifted++
		} else {
			o.shifted--
		}
	}
}

// all returns the processes, by key.
func (o *origins) all() []*process {
	var list []*process
	for _, key := range slices.Sorted(maps.Keys(o.processes)) {
		if p := o.processes[key]; p.key == key {
			list = append(list, p)
		}
	}
	return list
}
