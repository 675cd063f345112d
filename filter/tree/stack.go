package tree

import (
	"hash/maphash"
	"strconv"

	"qss-filter/filter/print"
)

// Limits of the stacks that are open at a time: frames of several threads may mix, and a stack is over only when its thread
// begins another.
const (
	// patience is how many lines a stack waits for its next frame.
	patience = 1000
	// heldText bounds the text of open stacks in bytes, flushText that of the one that is being written.
	heldText  = 4 << 20
	flushText = 64 << 10
	// maxBetween is how many lines may come between two frames of a stack in formats without numbers.
	maxBetween = 3
	// shownFrames bounds the frames of a stack that a page shows.
	shownFrames = 512
)

// stack is one stack of a log.
type stack struct {
	id, line int
	thread   any
	// last and lastLine are the number and the line of the last frame, next is the number of the next function.
	last     uint64
	numbered bool
	lastLine int
	frames   int
	next     int
	over     bool
	begun    bool // its header is written
	text     []byte
	// The functions, for groups.
	key   maphash.Hash
	shown []place
}

// place is one function of a stack as pages show it.
type place struct {
	Func, File string
	Line       string // as it is shown
	Module     string
}

// stackOf returns the stack that a frame belongs to, nil for one in a sentence. A frame whose number is not above that of the
// last one begins a new stack, as #0 always does.
func (l *logSink) stackOf(o *print.Observation) *stack {
	if o.Sentence {
		return nil
	}
	s := l.open[o.Thread]
	if s != nil && !s.over && s.numbered == o.Numbered {
		if o.Numbered && o.Number > s.last || !o.Numbered && o.Line-s.lastLine <= maxBetween {
			s.last, s.lastLine = o.Number, o.Line
			return s
		}
	}
	if s != nil {
		l.finish(s)
	}
	l.settle(o.Line)
	s = &stack{id: l.counts.stacks, line: o.Line, thread: o.Thread, last: o.Number, numbered: o.Numbered, lastLine: o.Line}
	if l.rep.grouping() {
		s.key.SetSeed(l.rep.groups.seed)
	}
	l.counts.stacks++
	l.open[o.Thread] = s
	l.order = append(l.order, s)
	return s
}

// finish ends a stack: no frame will follow.
func (l *logSink) finish(s *stack) {
	if s.over {
		return
	}
	s.over = true
	if l.open[s.thread] == s {
		delete(l.open, s.thread)
	}
	if l.rep.grouping() {
		l.rep.groups.add(l, s)
	}
	s.shown = nil
}

// settle writes the stacks that are over, in their order, and ends those that have waited for too long.
func (l *logSink) settle(line int) {
	for len(l.order) > 0 {
		s := l.order[0]
		if !s.over && (line-s.lastLine > patience || l.held > heldText) {
			l.finish(s)
		}
		if !s.over {
			return
		}
		l.write(s)
		l.order = l.order[1:]
	}
}

// add puts a line into a stack's text.
func (l *logSink) add(s *stack, write func([]byte) []byte) {
	if l.stacks == nil {
		return
	}
	before := len(s.text)
	s.text = append(write(s.text), '\n')
	l.held += len(s.text) - before
	if len(s.text) > flushText && l.order[0] == s {
		l.write(s)
	}
	if l.held > heldText {
		l.settle(s.lastLine)
	}
}

// write writes what there is of a stack.
func (l *logSink) write(s *stack) {
	if l.stacks == nil {
		return
	}
	if !s.begun {
		s.begun = true
		var head []byte
		if s.id > 0 {
			head = append(head, '\n')
		}
		head = append(strconv.AppendInt(append(head, "=== STACK "...), int64(s.id), 10), " ("...)
		head = append(append(head, l.name...), ": line "...)
		head = append(strconv.AppendInt(head, int64(s.line), 10), ") ===\n"...)
		l.put(head)
	}
	l.put(s.text)
	l.held -= len(s.text)
	s.text = s.text[:0]
}

// put writes to the list of stacks. The first error is kept for the end.
func (l *logSink) put(b []byte) {
	if _, err := l.stacks.Write(b); err != nil && l.err == nil {
		l.err = err
	}
}
