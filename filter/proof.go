package filter

import (
	"bytes"
	"context"
	"iter"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/linecache"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/markup"
)

// proving is a stream.Liner around that of a filter. It holds lines back, from a frame on whose file must be proven by the stack to the end of
// that stack. Lines of other threads in between wait with them, since the order does not change.
type proving struct {
	heldBack
	f *liner
	// stacks are those that the threads print. They are kept when the lines leave, since more of a stack may come.
	stacks map[*resolve.Thread]*resolve.Stack
	// open are the threads with frames to be proven among the lines that are held back.
	open map[*resolve.Thread]bool
	// listed are the processes whose mappings are among the lines that are held back: they do not count before these leave.
	listed map[*resolve.Process]bool
	// texts says which of the lines that are held back mean nothing in that state of the filter.
	texts []bool
	state match.When
	// named is the process that the last line names, as valgrind's do.
	named []byte
	// passed is the last line that was not looked at, since it has a build ID or is known, and passedLine its number.
	passed     []byte
	passedLine int
}

// Bounds of what is held back, and of what is remembered.
const (
	maxHeldLines = 1 << 10
	maxHeldBytes = 1 << 20
	maxStacks    = 1 << 9
	maxPassed    = 1 << 10 // bytes of a line
)

// newProving returns one around a filter.
func newProving(f *liner) *proving {
	h := &proving{f: f}
	h.heldBack = heldBack{to: f, release: h.leave}
	return h
}

// next is the number of the next line.
func (h *proving) next() int { return h.f.line + len(h.lines) + 1 }

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (h *proving) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if !h.holding() {
		if out, n = h.f.repeated(dst, b); n > 0 {
			h.pass(b[h.f.known.last:n])
			return out, n
		}
		dst = out
	}
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	line := b[:n]
	if n > h.MaxLine() || !h.holding() && !h.mayNeed(line) {
		out, n = h.f.new(ctx, h.leave(ctx, dst), b)
		h.pass(b[:n])
		return out, n
	}
	before, passes := h.mayHold(ctx, line)
	if before {
		dst = h.leave(ctx, dst)
		_, passes = h.mayHold(ctx, line)
	}
	if passes {
		if before && h.isText(line) {
			out, same := h.f.Skip(dst, line)
			if same {
				out = append(out, line...)
			}
			return out, n
		}
		return h.f.first(ctx, dst, b, n), n
	}
	if h.bytes > maxHeldBytes || len(h.lines) > maxHeldLines {
		dst = h.leave(ctx, dst)
	}
	return dst, n
}

// buildIDWord is in the frames of most emitters that print build IDs.
var buildIDWord = []byte("(BuildId: ")

// mayNeed reports whether a line may hold a frame without a build ID.
func (h *proving) mayNeed(line []byte) bool {
	if h.f.dump.open || bytes.Contains(line, buildIDWord) {
		return false
	}
	if parse.HasMarkup(line) {
		return (h.f.unidentified || h.f.resolver.Mapped) && bytes.Contains(line, linecache.BTStart[1:])
	}
	h.f.resolver.NoteListed(line)
	return frame.CandidateOfFile(line, h.f.absolutes()) || h.joint() != nil
}

// pass notes a line that was not looked at, the last one so far.
func (h *proving) pass(line []byte) {
	h.passed, h.passedLine = append(h.passed[:0], line[:min(len(line), maxPassed)]...), h.f.line
}

// mayHold holds a line back, unless it passes: it needs not wait. before is set, and nothing is done, if those held back must leave before
// it: their stack has ended. A line over which the program panics passes.
func (h *proving) mayHold(ctx context.Context, line []byte) (before, passes bool) {
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(h.f.line, guard.Fault(cause))
			before, passes = h.holding(), true
		}
	}()
	text := h.holding() && h.state == h.f.state && h.joint() == nil && bytes.IndexByte(line, '#') < 0 && h.isText(line)
	found, needs := h.collect(ctx, line, &text)
	switch {
	case !h.holding() && !needs:
		return false, true
	case found == endsStack:
		return true, false
	}
	if !h.holding() {
		h.texts, h.state = h.texts[:0], h.f.state
	}
	h.texts = append(h.texts, text)
	h.hold(line)
	return false, false
}

// joint returns what the next line is a part of, nil for a line that is none.
func (h *proving) joint() *parse.Joint { return h.f.joints[h.next()] }

// finding is what a line means for the lines that are held back.
type finding uint8

const (
	// endsStack is a line without a frame, or one that begins another stack.
	endsStack finding = iota
	// ofOther is a line of another thread, and ofStack a frame.
	ofOther
	ofStack
)

// collect reads the frames of a line into the stacks of their threads. needs is set if one of them needs proof. If text is set, the line has
// nothing that is searched for, and no number of a frame; it is cleared if the line is of a list of mappings nonetheless.
func (h *proving) collect(ctx context.Context, line []byte, text *bool) (found finding, needs bool) {
	number := h.next()
	if h.passedLine > 0 && h.passedLine == number-1 {
		h.passedLine = 0
		h.passed, _ = scan.CutEnd(h.passed)
		h.read(ctx, h.passed, number-1, new(bool))
	}
	return h.read(ctx, line, number, text)
}

// read is the same for a line of that number.
func (h *proving) read(ctx context.Context, line []byte, number int, text *bool) (found finding, needs bool) {
	l := h.f.readLine(h.f.uncolored(line), number)
	p := &h.f.parser.Prefix
	named := p.Claimed.Of(l.Text)
	if crashed, ok := prefix.Crashed(l.Text[p.Start:p.End], l.Words()); ok {
		named = crashed.Of(l.Text[p.Start:p.End])
	}
	if h.holding() && len(named) > 0 && !bytes.Equal(named, h.named) {
		return endsStack, false // it names a process, which must not happen before the lines have left
	}
	h.named = append(h.named[:0], named...)
	t := h.f.thread(l)
	for h.f.parser.Next(l) {
		if l.JSON {
			t = h.f.thread(l)
		}
		now, need := h.segment(ctx, t, l, number, text)
		found, needs = max(found, now), needs || need
	}
	return found, needs
}

// segment is the same for a segment of a thread.
func (h *proving) segment(ctx context.Context, t *resolve.Thread, l *parse.Line, number int, text *bool) (found finding, needs bool) {
	if h.holding() && l.Begins() {
		if _, is := mappings.Parse(l.Text[l.Start:l.End]); is {
			h.list(t.Process)
			*text = false
		}
	}
	if *text {
		if h.open[t] {
			return endsStack, false
		}
		return ofOther, false
	}
	for fr := range h.frames(l) {
		if h.listed[t.Process] {
			return endsStack, needs
		}
		stack := h.stackOf(ctx, t, number, fr)
		if stack == nil {
			return endsStack, needs
		}
		found = ofStack
		if h.f.resolver.Proofs.Add(ctx, stack, t, number, l.Text, fr) {
			needs = true
		}
	}
	if _, opens := frame.OpensHostFrame(l.Text); opens && found != ofStack {
		if stack := h.stacks[t]; stack != nil {
			stack.Pass(number)
		}
		found = ofStack
	}
	switch {
	case needs && h.open == nil:
		h.open = map[*resolve.Thread]bool{t: true}
	case needs:
		h.open[t] = true
	case found == endsStack && h.holding() && !h.open[t]:
		found = ofOther
	}
	return found, needs
}

// list notes that a line of a list of mappings is held back.
func (h *proving) list(p *resolve.Process) {
	if h.listed == nil {
		h.listed = map[*resolve.Process]bool{}
	}
	h.listed[p] = true
}

// frames returns the frames of a segment that may be of a stack.
func (h *proving) frames(l *parse.Line) iter.Seq[*parse.Frame] {
	return func(yield func(*parse.Frame) bool) {
		if l.HasMarkup() {
			if fr, ok := element(l.Text); ok {
				yield(&fr)
			}
			return
		}
		frames := h.f.readFrames(l.Segment, true)
		for i := range frames {
			if fr := &frames[i]; fr.Shape != frame.Pair && !fr.Data && !yield(fr) {
				return
			}
		}
	}
}

// element returns the frame that the first element of a text is.
func element(text []byte) (fr parse.Frame, ok bool) {
	e, ok := markup.Next(text, max(0, bytes.Index(text, parse.OpenBraces)))
	if !ok || e.Tag != markup.BT {
		return fr, false
	}
	fields, err := e.BT()
	fr.Num, fr.Number = frame.Span{Start: e.Start, End: e.End}, fields.Num
	fr.Base, fr.Offset = frame.Absolute, fields.Addr
	return fr, err == nil
}

// stackOf returns the stack that a frame is of. It is nil if the frame begins another one, and lines of the one before are held back.
func (h *proving) stackOf(ctx context.Context, t *resolve.Thread, number int, fr *parse.Frame) *resolve.Stack {
	stack := h.stacks[t]
	if stack != nil && h.f.resolver.Proofs.Continues(stack, t, number, fr) {
		return stack
	}
	if stack != nil && h.open[t] {
		if h.holding() {
			return nil
		}
		h.f.resolver.Proofs.Weigh(ctx, stack) // a line may hold several stacks
	}
	if stack != nil {
		stack.Reset()
		return stack
	}
	if h.stacks == nil || len(h.stacks) >= maxStacks {
		h.stacks = map[*resolve.Thread]*resolve.Stack{}
	}
	stack = &resolve.Stack{}
	h.stacks[t] = stack
	return stack
}

// leave weighs the stacks of the held lines, and lets the lines go.
func (h *proving) leave(ctx context.Context, dst []byte) []byte {
	if !h.holding() {
		return dst
	}
	h.weigh(ctx)
	h.open, h.listed = nil, nil
	for i, line := range h.take() {
		if !h.texts[i] || h.f.Scan() == nil || h.f.state != h.state {
			dst = h.f.Line(ctx, dst, line)
			h.f.rescan()
			continue
		}
		var same bool
		if dst, same = h.f.Skip(dst, line); same {
			dst = append(dst, line...)
		}
	}
	return dst
}

// isText reports whether a line that came only since others are held back means nothing.
func (h *proving) isText(line []byte) bool {
	if s := h.f.Scan(); s == nil || s.Next(line, 0) >= 0 {
		return false
	}
	_, opens := frame.OpensHostFrame(line)
	return !opens
}

// weigh weighs the stacks. After a panic their files stay unproven.
func (h *proving) weigh(ctx context.Context) {
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(h.f.line, guard.Fault(cause))
		}
	}()
	for t := range h.open {
		if stack := h.stacks[t]; stack != nil {
			h.f.resolver.Proofs.Weigh(ctx, stack)
		}
	}
}

// Pending reports whether something is held back, and for how long it may be while the log pauses.
func (h *proving) Pending() (patience time.Duration, held bool) {
	if h.holding() {
		return pause, true
	}
	return h.f.Pending()
}
