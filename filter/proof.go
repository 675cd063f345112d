package filter

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
)

// proving is a stream.Liner around a filter. It holds lines back, from a frame on whose file must be proven by the stack to the end of
// that stack. Lines of other threads in between wait with them, since the order does not change.
type proving struct {
	*Filter
	lines [][]byte
	bytes int
	// stacks are those that the threads print. They are kept when the lines leave, since more of a stack may come.
	stacks map[*resolve.Thread]*resolve.Stack
	// open are the threads with frames to be proven among the lines that are held back.
	open map[*resolve.Thread]bool
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
	maxStacks    = 1 << 10
	maxPassed    = 1 << 10 // bytes of a line
)

// holding reports whether lines are held back.
func (h *proving) holding() bool { return len(h.lines) > 0 }

// next is the number of the next line.
func (h *proving) next() int { return h.line + len(h.lines) + 1 }

// Scan returns nil while lines are held back: those after them must stay behind them.
func (h *proving) Scan() *stream.Scan {
	if h.holding() {
		return nil
	}
	return h.Filter.Scan()
}

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (h *proving) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if !h.holding() {
		if out, n = h.repeated(ctx, dst, b); n > 0 {
			h.pass(b[h.known.last:n])
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
		out, n = h.new(ctx, h.release(ctx, dst), b)
		h.pass(b[:n])
		return out, n
	}
	before, passes := h.hold(ctx, line)
	if before {
		dst = h.release(ctx, dst)
		_, passes = h.hold(ctx, line)
	}
	if passes {
		return h.first(ctx, dst, b, n), n
	}
	if h.bytes > maxHeldBytes || len(h.lines) > maxHeldLines {
		dst = h.release(ctx, dst)
	}
	return dst, n
}

// buildIDWord is in the frames of most emitters that print build IDs.
var buildIDWord = []byte("(BuildId: ")

// mayNeed reports whether a line may hold a frame without a build ID.
func (h *proving) mayNeed(line []byte) bool {
	if h.dump.open || bytes.Contains(line, buildIDWord) {
		return false
	}
	if parse.HasMarkup(line) {
		return h.mayNeedProof(line)
	}
	return frame.Candidate(line, false, h.absolutes())
}

// pass notes a line that was not looked at, the last one so far.
func (h *proving) pass(line []byte) {
	h.passed, h.passedLine = append(h.passed[:0], line[:min(len(line), maxPassed)]...), h.line
}

// hold holds a line back, unless it passes: it needs not wait. before is set, and nothing is done, if those held back must leave before
// it: their stack has ended. A line over which the program panics passes.
func (h *proving) hold(ctx context.Context, line []byte) (before, passes bool) {
	defer func() {
		if cause := recover(); cause != nil {
			h.broken(h.line, guard.Fault(cause))
			before, passes = h.holding(), true
		}
	}()
	found, needs := h.collect(ctx, line)
	switch {
	case !h.holding() && !needs:
		return false, true
	case found == endsStack:
		return true, false
	}
	h.lines = append(h.lines, bytes.Clone(line))
	h.bytes += len(line)
	return false, false
}

// finding is what a line means for the lines that are held back.
type finding uint8

const (
	// endsStack is a line without a frame, or one that begins another stack.
	endsStack finding = iota
	// ofOther is a line of another thread, and ofStack a frame.
	ofOther
	ofStack
)

// collect reads the frames of a line into the stacks of their threads. needs is set if one of them needs proof.
func (h *proving) collect(ctx context.Context, line []byte) (found finding, needs bool) {
	number := h.next()
	if h.passedLine > 0 && h.passedLine == number-1 {
		h.passedLine = 0
		h.passed, _ = scan.CutEnd(h.passed)
		h.read(ctx, h.passed, number-1)
	}
	return h.read(ctx, line, number)
}

// read is the same for a line of that number.
func (h *proving) read(ctx context.Context, line []byte, number int) (found finding, needs bool) {
	l := h.parser.Line(h.uncolored(line))
	p := &h.parser.Prefix
	named := p.Claimed.Of(l.Text)
	if crashed, ok := prefix.Crashed(l.Text[p.Start:p.End]); ok {
		named = crashed.Of(l.Text[p.Start:p.End])
	}
	if h.holding() && len(named) > 0 && !bytes.Equal(named, h.named) {
		return endsStack, false // it names a process, which must not happen before the lines have left
	}
	h.named = append(h.named[:0], named...)
	t := h.thread(l)
	for h.parser.Next(l) {
		if l.JSON {
			t = h.thread(l)
		}
		now, need := h.segment(ctx, t, l, number)
		found, needs = max(found, now), needs || need
	}
	return found, needs
}

// segment is the same for a segment of a thread.
func (h *proving) segment(ctx context.Context, t *resolve.Thread, l *parse.Line, number int) (found finding, needs bool) {
	for _, fr := range h.frames(l) {
		stack := h.stackOf(ctx, t, number, &fr)
		if stack == nil {
			return endsStack, needs
		}
		found = ofStack
		if h.resolver.Proofs.Add(ctx, stack, t, number, l.Text, &fr) {
			needs = true
		}
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

// frames returns the frames of a segment that may be of a stack.
func (h *proving) frames(l *parse.Line) (frames []parse.Frame) {
	if parse.HasMarkup(l.Text) {
		if fr, ok := element(l.Text); ok {
			frames = append(frames, fr)
		}
		return frames
	}
	for _, fr := range h.readFrames(l.Segment, true) {
		if fr.Shape != frame.Pair && !fr.Data {
			frames = append(frames, fr)
		}
	}
	return frames
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
	if stack != nil && h.resolver.Proofs.Continues(stack, t, number, fr) {
		return stack
	}
	if stack != nil && h.open[t] {
		if h.holding() {
			return nil
		}
		h.resolver.Proofs.Weigh(ctx, stack) // a line may hold several stacks
	}
	if h.stacks == nil || len(h.stacks) >= maxStacks {
		h.stacks = map[*resolve.Thread]*resolve.Stack{}
	}
	stack = &resolve.Stack{}
	h.stacks[t] = stack
	return stack
}

// release weighs the stacks of the held lines, and lets the lines go.
func (h *proving) release(ctx context.Context, dst []byte) []byte {
	if !h.holding() {
		return dst
	}
	h.weigh(ctx)
	lines := h.lines
	h.lines, h.bytes, h.open = nil, 0, nil
	for _, line := range lines {
		dst = h.Line(ctx, dst, line)
	}
	h.rescan()
	return dst
}

// weigh weighs the stacks. After a panic their files stay unproven.
func (h *proving) weigh(ctx context.Context) {
	defer func() {
		if cause := recover(); cause != nil {
			h.broken(h.line, guard.Fault(cause))
		}
	}()
	for t := range h.open {
		if stack := h.stacks[t]; stack != nil {
			h.resolver.Proofs.Weigh(ctx, stack)
		}
	}
}

// Skip releases the held lines before lines that mean nothing.
func (h *proving) Skip(dst, lines []byte) (out []byte, same bool) {
	return h.Filter.Skip(h.release(context.Background(), dst), lines)
}

// Part releases the held lines before a piece of a line.
func (h *proving) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	return h.Filter.Part(h.release(context.Background(), dst), text, first, last)
}

// Torn releases the held lines before the beginning of a line, which does not count for its stack.
func (h *proving) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	return h.Filter.Torn(ctx, h.release(ctx, dst), begin, waited)
}

// Pending reports whether something is held back, and for how long it may be while the log pauses.
func (h *proving) Pending() (patience time.Duration, held bool) {
	if h.holding() {
		return pause, true
	}
	return h.Filter.Pending()
}

// Flush appends all that is held back.
func (h *proving) Flush(dst []byte) []byte {
	return h.Filter.Flush(h.release(context.Background(), dst))
}
