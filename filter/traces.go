package filter

import (
	"bytes"
	"context"
	"slices"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// traces is a stream.Liner around that of a filter. It holds back a line that may name an exception until the next line of its thread, since
// only a frame below says that it does: `a.b: text` may be anything. Where neither the trace nor the user says which map it is, it holds
// the trace back to its end, which is evidence for a map.
type traces struct {
	heldBack
	f *liner
	// open are the traces of the threads whose lines are held back.
	open map[*resolve.Thread]*trace
	said []saidBy // scratch memory
	// calls counts those of Lines and Skip.
	calls int
}

// trace is what is held back of a thread's trace.
type trace struct {
	// thrown is the number of the line that may name an exception, 0 for none, and first that of the first line held back.
	thrown, first int
	// evidence is what the trace says of maps, and lines are the numbers of its lines.
	evidence resolve.Evidence
	lines    []int
}

// maxApart is by how many lines of other threads an exception and its first frame may be apart.
const maxApart = 8

// newTraces returns one around a filter, whose lines go to another Liner.
func newTraces(f *liner, to stream.Liner) *traces {
	h := &traces{f: f, open: map[*resolve.Thread]*trace{}}
	h.heldBack = heldBack{to: to, release: h.leave}
	return h
}

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (h *traces) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	h.lookAhead(ctx)
	line := b[:n]
	if n > h.MaxLine() {
		return h.to.Lines(ctx, h.leave(ctx, dst), b)
	}
	if !h.f.holding() {
		if out, n = h.f.tails.run(dst, b); n > 0 {
			return out, n
		}
		if n = h.idle(ctx, b); n > 0 {
			out, same := h.Skip(dst, b[:n])
			if same {
				out = append(out, b[:n]...)
			}
			return out, n
		}
		n = len(line)
	}
	if h.f.java().State() == 0 && !h.holding() {
		return h.look(ctx, dst, b, line)
	}
	ends, holds := h.mayHold(ctx, line)
	if ends {
		dst = h.leave(ctx, dst)
		_, holds = h.mayHold(ctx, line)
	}
	switch {
	case !holds && h.holding():
		return h.to.Lines(ctx, h.leave(ctx, dst), line)
	case !holds:
		return h.look(ctx, dst, b, line)
	}
	h.hold(line)
	if h.bytes > maxHeldBytes || len(h.lines) > maxHeldLines || h.late() {
		dst = h.leave(ctx, dst)
	}
	return dst, n
}

// look appends what becomes of the first line of b, which is known from then on.
func (h *traces) look(ctx context.Context, dst, b, line []byte) (out []byte, n int) {
	before, rescued, knows := len(dst), h.f.rescued, h.f.java().Settled() && !h.f.holding() // whose output would come first
	h.f.original = original{}
	out, n = h.to.Lines(ctx, dst, b)
	if knows && n == len(line) && !h.f.holding() && len(out) >= before {
		h.f.tails.learn(line, out[before:], rescued)
	}
	return out, n
}

// idle returns how many bytes of the lines at the beginning of b mean nothing: they hold words of Java, but no frame of a class that a map knows, and
// no exception of one, and nothing of machine code.
func (h *traces) idle(ctx context.Context, b []byte) (n int) {
	f, j := h.f, h.f.java()
	if f.known.off || f.Scan() == nil || !j.Settled() || j.State() == 0 || f.held.holding() || f.ahead != nil && f.ahead.holding() || f.parser.Long || f.parser.InXML() {
		return 0
	}
	known := func(class, source []byte) bool { return j.Means(ctx, class, source) }
	native := f.scan(f.native)
	for n < len(b) {
		end := bytes.IndexByte(b[n:], '\n') + 1
		if end == 0 {
			end = len(b) - n
		}
		line := b[n : n+end]
		if end > h.MaxLine() || n > 0 && f.Scan().Next(line, 0) < 0 || native.Next(line, 0) >= 0 || h.mayThrow(ctx, line) || frame.AnyJava(line, known) {
			break
		}
		f.tails.learnIdle(line)
		n += end
	}
	return n
}

// late reports whether an exception has waited for its first frame for too many lines.
func (h *traces) late() bool {
	for _, t := range h.open {
		if len(t.lines) == 0 && h.f.next()-t.first > maxApart {
			return true
		}
	}
	return false
}

// mayHold reports whether a line is to be held back. ends is set, and nothing is done, if those held back must leave before it: what
// they have waited for is known. A line over which the program panics passes.
func (h *traces) mayHold(ctx context.Context, line []byte) (ends, holds bool) {
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(h.f.next(), guard.Fault(cause))
			ends, holds = h.holding(), false
		}
	}()
	number, held := h.f.next(), h.holding()
	l := h.f.parser.Line(h.f.uncolored(line))
	h.said = h.said[:0]
	for h.f.parser.Next(l) {
		if h.isHeader(l) {
			continue
		}
		t := h.thread(l)
		said := h.says(ctx, t, l, number)
		holds = holds || said != nothing
		i := slices.IndexFunc(h.said, func(s saidBy) bool { return s.thread == t })
		if i < 0 {
			i = len(h.said)
			h.said = append(h.said, saidBy{thread: t})
		}
		h.said[i].meaning = max(h.said[i].meaning, said)
	}
	closed := false
	for _, s := range h.said { // the strings of an object may all be of one thread
		if known := h.open[s.thread]; held && known != nil && known.first < number && s.meaning != continues {
			h.weigh(ctx, known)
			delete(h.open, s.thread)
			closed = true
		}
	}
	if closed && len(h.open) == 0 {
		return true, false
	}
	return false, holds || held
}

// isHeader reports whether a line is a header of logcat -v long, or empty, as between its messages.
func (h *traces) isHeader(l *parse.Line) bool {
	return h.f.parser.Long && (len(bytes.TrimSpace(l.Body)) == 0 || prefix.IsHeader(l.Body))
}

// saidBy is what a line means for what is held back of a thread.
type saidBy struct {
	thread  *resolve.Thread
	meaning meaning
}

// thread returns the thread that a segment is from.
func (h *traces) thread(l *parse.Line) *resolve.Thread {
	o, p := h.f.resolver.Processes, &h.f.parser.Prefix
	switch {
	case l.Bare:
		return o.Unnamed
	case l.JSON:
		return o.Writer(p, &l.Owner, l.Object, l.Text)
	}
	return o.Writer(p, nil, nil, l.Text)
}

// meaning is what a segment means for what is held back.
type meaning uint8

const (
	// nothing begins no wait, and ends that of its thread.
	nothing meaning = iota
	// begins waits for the next line of its thread.
	begins
	// continues is evidence for a map, as other lines of its trace.
	continues
)

// says returns what a segment of a thread means. It ends the wait of an exception that it proves.
func (h *traces) says(ctx context.Context, t *resolve.Thread, l *parse.Line, number int) meaning {
	j, p, open := h.f.java(), &h.f.parser, h.open[t]
	announced := p.ReadJava(l.Segment)
	if len(p.Frames) == 0 {
		if bytes.Contains(l.Text, fatal) {
			j.Look(ctx)
		}
		if open != nil && len(open.lines) > 0 && resolve.ElidesJava(l.Text[l.Start:l.End]) {
			return continues
		}
		return nothing
	}
	fr := &p.Frames[0]
	thrown := fr.Shape == frame.Thrown
	if !thrown || announced || bytes.IndexByte(fr.HintText, '.') > 0 {
		j.Look(ctx)
	}
	switch {
	case thrown && open != nil && len(open.lines) > 0:
		if !announced {
			return nothing
		}
		open.evidence.Class(fr.HintText)
	case thrown:
		if !j.Knows(ctx, fr.HintText) || announced && j.Decided(t) || open != nil && open.first == number {
			return nothing
		}
		h.open[t] = &trace{thrown: number, first: number}
		h.open[t].evidence.Class(fr.HintText)
		return begins
	case j.Decides(t, fr):
		switch {
		case open == nil:
			return nothing
		case len(open.lines) == 0:
			if open.thrown > 0 {
				h.f.weighed.note(open.thrown, j.Weighed(ctx, fr))
				open.thrown = 0
			}
			return nothing
		}
		open.evidence.Named(j.Weighed(ctx, fr))
	default:
		if open == nil {
			if !j.Weighs(ctx, fr) {
				return nothing
			}
			open = &trace{first: number}
			h.open[t] = open
		}
		if open.thrown > 0 {
			open.lines, open.thrown = append(open.lines, open.thrown), 0
		}
		open.evidence.Frame(fr)
	}
	open.lines = append(open.lines, number)
	return continues
}

// fatal is in the first line of Android's report of an exception that nothing has caught.
var fatal = []byte("FATAL EXCEPTION")

// leave lets the lines go, with what their traces are evidence for.
func (h *traces) leave(ctx context.Context, dst []byte) []byte {
	if !h.holding() {
		return dst
	}
	for _, t := range h.open {
		h.weigh(ctx, t)
	}
	clear(h.open)
	for _, line := range h.take() {
		dst, _ = h.to.Lines(ctx, dst, line)
	}
	h.f.rescan()
	return dst
}

// weigh weighs a trace. After a panic it stays as it is.
func (h *traces) weigh(ctx context.Context, t *trace) {
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(h.f.line, guard.Fault(cause))
		}
	}()
	if len(t.lines) == 0 {
		return
	}
	as := h.f.java().Weigh(ctx, &t.evidence)
	for _, line := range t.lines {
		h.f.weighed.note(line, as)
	}
}

// Pending reports whether something is held back, and for how long it may be while the log pauses.
func (h *traces) Pending() (patience time.Duration, held bool) {
	if h.holding() {
		return pause, true
	}
	return h.to.Pending()
}
