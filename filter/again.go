package filter

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// again is the last line that was read, if nothing was found in it for itself: a literal, or a headline. What it says has been said, so that the
// same line need not be read after it. A program may write such a line for hours.
//
// A line with frames that have no names is one as well if it has become the same twice, and has left the same state behind each time.
type again struct {
	// text is the line with its end, empty for a line in which something was found. state is that of the filter.
	text  []byte
	state match.When
	// frames is set if the line has frames, and known if it is known what becomes of it.
	frames, known bool
	// line is the number of the line with frames that was read last. out is what became of it, and left the state after it, once it has come
	// twice.
	line  int
	out   []byte
	left  resolve.State
	twice bool
}

// maxAgain bounds the line, and maxAgainOut what became of it, in bytes.
const (
	maxAgain    = 8 << 10
	maxAgainOut = 8 * maxAgain
)

// run returns how many bytes of the lines at the beginning of b are the line, in a state, and how many lines that are.
func (a *again) run(b []byte, state match.When) (n, lines int) {
	if !a.known || state != a.state {
		return 0, 0
	}
	for bytes.HasPrefix(b[n:], a.text) && (!a.frames || lines*len(a.out) < stream.MaxOutput) {
		n += len(a.text)
		lines++
	}
	return n, lines
}

// forget forgets the line.
func (a *again) forget() { a.text, a.known, a.twice = a.text[:0], false, false }

// repeat appends what becomes of the lines at the beginning of b that are the last line again.
func (h *splits) repeat(dst, b []byte) (out []byte, n int) {
	a, f := &h.again, h.f
	if a.frames && (a.line != f.line || !a.left.Holds(f.resolver)) {
		return dst, 0
	}
	n, lines := a.run(b, f.state)
	if n == 0 {
		return dst, 0
	}
	if !a.frames {
		out, same := h.Skip(dst, b[:n])
		if same {
			out = append(out, b[:n]...)
		}
		return out, n
	}
	if f.opt.Read != nil {
		f.opt.Read(f.line+1, b[:n])
	}
	for range lines {
		dst = append(dst, a.out...)
	}
	f.line += lines
	a.line = f.line
	f.resolver.Counts.Repeat(lines)
	a.left.Pass(f.line)
	f.held.pass(a.text)
	h.pass(n)
	return dst, n
}

// readAs is what there was before a line was read.
type readAs struct {
	line, out, rescued, window int
	quiet                      bool
}

// begins notes what there is before a line is read, whose output goes to dst.
func (h *splits) begins(dst []byte, quiet bool) readAs {
	h.again.known = false
	return readAs{h.f.line, len(dst), h.f.rescued, h.f.window, quiet}
}

// ended remembers the line that was read, if nothing was found in it but frames without names: no line waits, and lines are read as before. A line
// without frames has left as it came.
func (h *splits) ended(r *readAs, out, line []byte) {
	a, f := &h.again, h.f
	if !r.quiet || !f.lasting || f.known.off || f.line != r.line+1 || f.rescued != r.rescued || f.window != r.window || f.dump.open || f.parser.Long || f.parser.InXML() ||
		len(line) > maxAgain || line[len(line)-1] != '\n' || f.state&match.Coloring != 0 || mayBePart(line) || !h.waitsForNone() {
		a.forget()
		return
	}
	out = out[min(r.out, len(out)):]
	if f.idle {
		a.forget()
		if bytes.Equal(out, line) {
			a.text, a.state, a.frames, a.known = append(a.text, line...), f.state, false, true
		}
		return
	}
	if f.known.printed || f.objects != nil || f.only != nil || f.opt.Maps != nil || f.opt.Fixed != nil || len(out) > maxAgainOut || !f.resolver.Counts.Complete() {
		a.forget()
		return
	}
	next := a.frames && a.line == r.line && bytes.Equal(a.text, line)
	a.line = f.line
	if !next {
		a.text, a.frames, a.twice = append(a.text[:0], line...), true, false
		return
	}
	left := f.resolver.State(f.by, f.line)
	if a.known = a.twice && a.state == f.state && a.left == left && bytes.Equal(a.out, out); a.known {
		return
	}
	a.out, a.left, a.state, a.twice = append(a.out[:0], out...), left, f.state, true
}

// waitsForNone reports whether no line waits for the next one.
func (h *splits) waitsForNone() bool { return h.due == 0 && !h.frames.awaits() && h.f.quiet() }

// idles reports whether nothing was found in a segment for itself.
func (f *Filter) idles(l *parse.Line) bool {
	return len(f.parser.Frames)+len(f.parser.Elements) == 0 && l.Left == 0 && !l.Bare && !l.Split()
}

// lasts reports whether nothing was found in a segment but frames without names, which have none until more of the log comes.
func (f *Filter) lasts(l *parse.Line) bool {
	if len(f.parser.Elements) > 0 || l.Left > 0 || l.Bare || l.Split() {
		return false
	}
	if len(f.parser.Frames) == 0 {
		return true
	}
	for i := range f.items {
		it := &f.items[i]
		if a := it.Answer; it.Frame.OfJava() || a != nil && (!a.Lasts() || print.Awaited(a)) {
			return false
		}
	}
	return true
}
