package filter

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
)

// goroutines is a stream.Liner around that of a filter for a reader at a terminal. Go names its functions itself: tracebacks have no frames
// for the filter, but are long, and most of them is no code of the program. It holds a goroutine back to its end, and writes what is read best.
type goroutines struct {
	heldBack
	f    *liner
	read print.GoReader
	// clear is how many bytes of the log that come next have no line that begins a goroutine.
	clear int
}

// newGoroutines returns one around a filter, whose lines go to another Liner.
func newGoroutines(f *liner, to stream.Liner) *goroutines {
	g := &goroutines{f: f}
	g.heldBack = heldBack{to: to, release: g.leave}
	return g
}

// goAhead is how far the other Liner may look beyond a line, in bytes.
const goAhead = 16 << 10

// goHeads are in all lines that begin a goroutine's traceback.
var goHeads = [...][]byte{[]byte("goroutine "), []byte("runtime stack:")}

// goSearch looks for such lines among others.
type goSearch struct {
	lines []byte
	next  [len(goHeads)]int // where each word is next, if that is beyond what was asked for
}

// head returns where a line with such a word begins from a line's begin on, the end of the lines if there is none.
func (s *goSearch) head(from int) int {
	first := len(s.lines)
	for i, word := range goHeads {
		if s.next[i] <= from {
			if at := bytes.Index(s.lines[from:], word); at >= 0 {
				s.next[i] = from + at
			} else {
				s.next[i] = len(s.lines)
			}
		}
		first = min(first, s.next[i])
	}
	if first == len(s.lines) {
		return first
	}
	return max(from, bytes.LastIndexByte(s.lines[from:first], '\n')+1+from)
}

// Lines holds back the first line of b if it is of a goroutine.
func (g *goroutines) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	dst, held := g.line(ctx, dst, b[:n])
	if held {
		g.pass(n)
		return dst, n
	}
	// The other Liner may take more lines than one, and looks ahead.
	if n+goAhead < len(b) {
		b = b[:max(n, bytes.LastIndexByte(b[:n+goAhead], '\n')+1)]
	}
	rest := goSearch{lines: b}
	g.clear = rest.head(max(n, min(g.clear, len(b))))
	out, n = g.to.Lines(ctx, dst, b[:g.clear])
	g.pass(n)
	return out, n
}

// pass notes that some bytes of the log have passed.
func (g *goroutines) pass(n int) { g.clear = max(0, g.clear-n) }

// Part passes a piece of a line on.
func (g *goroutines) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	g.clear = 0
	return g.heldBack.Part(dst, text, first, last)
}

// Torn passes the beginning of a line on.
func (g *goroutines) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	g.clear = 0
	return g.heldBack.Torn(ctx, dst, begin, waited)
}

// line holds a line back if it is of a goroutine. One that has ended leaves before it, or with it.
func (g *goroutines) line(ctx context.Context, dst, line []byte) (out []byte, held bool) {
	if g.holding() {
		if what, ok := g.read.Continue(line); ok {
			g.hold(line)
			if what == print.GoEnd || g.bytes > maxHeldBytes || len(g.lines) > maxHeldLines {
				dst = g.leave(ctx, dst)
			}
			return dst, true
		}
		dst = g.leave(ctx, dst)
	}
	return dst, g.begins(line)
}

// begins holds a line back if it begins a goroutine.
func (g *goroutines) begins(line []byte) bool {
	if len(line) > g.MaxLine() {
		return false
	}
	if !g.read.Begin(line) {
		return false
	}
	g.hold(line)
	return true
}

// Skip looks for goroutines among lines that mean nothing to others.
func (g *goroutines) Skip(dst, lines []byte) (out []byte, same bool) {
	g.pass(len(lines))
	search := goSearch{lines: lines}
	if !g.holding() && search.head(0) == len(lines) {
		return g.to.Skip(dst, lines)
	}
	pass := func(text []byte) {
		if len(text) == 0 {
			return
		}
		if dst, same = g.to.Skip(dst, text); same {
			dst = append(dst, text...)
		}
	}
	for at := 0; at < len(lines); {
		if !g.holding() {
			head := search.head(at)
			pass(lines[at:head])
			at = head
		}
		end := at + bytes.IndexByte(lines[at:], '\n') + 1
		if end == at {
			end = len(lines)
		}
		var held bool
		if dst, held = g.line(context.Background(), dst, lines[at:end]); !held {
			pass(lines[at:end])
		}
		at = end
	}
	return dst, false
}

// Pending reports whether something is held back.
func (g *goroutines) Pending() (patience time.Duration, held bool) {
	if g.holding() {
		return pause, true
	}
	return g.to.Pending()
}

// leave appends the goroutine that is held back. To others its lines mean nothing. One over which the program panics leaves as it came.
func (g *goroutines) leave(_ context.Context, dst []byte) (out []byte) {
	if !g.holding() {
		return dst
	}
	lines := g.take()
	whole, number := bytes.Join(lines, nil), g.f.next()
	dst, _ = g.to.Skip(dst, whole)
	defer func() {
		if cause := recover(); cause != nil {
			g.f.broken(number, guard.Fault(cause))
			out = append(dst, whole...)
		}
	}()
	last := len(lines)
	if what := print.GoLineOf(bytes.TrimPrefix(lines[last-1], g.read.Prefix())); what == print.GoEnd || len(bytes.TrimSpace(lines[last-1])) == 0 {
		last--
	}
	out = g.f.brief.Goroutine(dst, number, g.read.Prefix(), lines[:last])
	for _, line := range lines[last:] {
		out = append(out, line...)
	}
	return out
}
