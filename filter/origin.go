package filter

import "qss-filter/ctxstate"

// process is what the filter keeps of one process of the log, beside its address space.
type process struct {
	key     string
	space   *ctxstate.Process
	emitter emitter
}

// writer is whoever stands in the loggers' prefixes. Its lines tell of a process: its own, or the one that a header such as
// `==PID==ERROR:` or debuggerd's `pid: N, tid: N` names.
type writer struct {
	*process
	key string
}

// thread is one thread of a writer: stacks of threads may mix, their address space is one.
type thread struct {
	*writer
	stack stack
	// trampoline is set where the last frame was a signal trampoline: the next one was interrupted, and its address is exact.
	trampoline bool
}

// over notes the answer of a frame on that line.
func (t *thread) over(line int, a *answer) {
	t.stack.line, t.trampoline = line, a.trampoline
}

// process gives what is kept of the process with that key.
func (f *Filter) process(key string) *process {
	p := f.procs[key]
	if p == nil {
		p = &process{key: key, space: f.state.Process(key)}
		f.procs[key] = p
	}
	return p
}

// origin gives the thread that a line is from.
func (f *Filter) origin(line []byte) *thread {
	t := f.threads[""]
	if t == nil {
		t = &thread{writer: &writer{process: f.process("")}}
		f.threads[""] = t
	}
	return t
}
