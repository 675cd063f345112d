package resolve

// State is what decides on the meaning of a thread's next line, besides its bytes and the files of this machine. Two of them are equal if the same
// line has the same meaning after both.
type State struct {
	thread     *Thread
	process    *Process
	stack      stack // whose lines are counted back from the line at hand
	emitter    emitter
	above      above
	trampoline bool
	reduced    bool
	reported   bool
	anonymous  bool
	first      bool
	top        int
	fault      uint64
	generation uint64
	used       uint64
	shifted    int
	forgotten  int
	piece      uint64
}

// far stands for all lines that are too far away for a frame of the same stack.
const far = 2 * maxLinesApart

// State returns that of a thread after a line.
func (r *Resolver) State(t *Thread, line int) State {
	s := State{thread: t, process: t.Process, stack: t.Stack, emitter: t.Emitter, above: t.above, trampoline: t.trampoline, reduced: t.reduced,
		reported: t.reported, anonymous: t.anonymous, first: t.begun.first, top: len(t.top), fault: t.fault, generation: t.Space.Generation(), used: t.used,
		shifted: r.Processes.Shifted, forgotten: r.Processes.Forgotten(), piece: r.memo.piece}
	s.stack.Line, s.stack.listing.line = ago(t.Stack.Line, line), ago(t.Stack.listing.line, line)
	return s
}

// ago returns how many lines before a line another one is, far at most. That is 0, before the first frame, too.
func ago(at, line int) int {
	if at == 0 {
		return far
	}
	return min(line-at, far)
}

// Holds reports whether a state is that of the piece of input at hand: files may have changed before it.
func (s *State) Holds(r *Resolver) bool { return s.piece == r.memo.piece }

// Pass lets the thread come to a line in a state. Its own lines after the last one, of which all became the same, lead there.
func (s *State) Pass(line int) {
	if at := s.stack.Line; at < far {
		s.thread.Stack.Line = line - at
	}
	if at := s.stack.listing.line; at < far {
		s.thread.Stack.listing.line = line - at
	}
}

// Lasts reports whether an answer without names stays one until more of the input comes.
func (a *Answer) Lasts() bool {
	return len(a.Frames) == 0 && a.retry == nil && a.Java == nil && !a.Assumed()
}
