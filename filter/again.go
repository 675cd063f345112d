package filter

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/parse"
)

// again is the last line that was read, if nothing was found in it for itself: a literal, or a headline. What it says has been said, so that the
// same line need not be read after it. A program may write such a line for hours.
type again struct {
	// text is the line with its end, empty for a line in which something was found. state is that of the filter.
	text  []byte
	state match.When
}

// maxAgain bounds the line, in bytes.
const maxAgain = 8 << 10

// run returns how many bytes of the lines at the beginning of b are the line, in a state.
func (a *again) run(b []byte, state match.When) (n int) {
	if state == a.state && len(a.text) > 0 {
		for bytes.HasPrefix(b[n:], a.text) {
			n += len(a.text)
		}
	}
	return n
}

// forget forgets the line.
func (a *again) forget() { a.text = a.text[:0] }

// readAs is what there was before a line was read.
type readAs struct {
	line, out, rescued, window int
	quiet                      bool
}

// begins notes what there is before a line is read, whose output goes to dst.
func (h *splits) begins(dst []byte, quiet bool) readAs {
	h.again.forget()
	return readAs{h.f.line, len(dst), h.f.rescued, h.f.window, quiet}
}

// ended remembers the line that was read, if nothing was found in it: no line waits, it has left as it came, and lines are read as before.
func (h *splits) ended(r *readAs, out, line []byte) {
	f := h.f
	if !r.quiet || !f.idle || f.known.off || f.line != r.line+1 || f.rescued != r.rescued || f.window != r.window || f.dump.open || f.parser.Long || f.parser.InXML() {
		return
	}
	if len(line) > maxAgain || mayBePart(line) || !bytes.Equal(out[min(r.out, len(out)):], line) || line[len(line)-1] != '\n' || f.state&match.Coloring != 0 ||
		!h.waitsForNone() {
		return
	}
	h.again.text, h.again.state = append(h.again.text, line...), f.state
}

// waitsForNone reports whether no line waits for the next one.
func (h *splits) waitsForNone() bool { return h.due == 0 && !h.frames.awaits() && h.f.quiet() }

// idles reports whether nothing was found in a segment for itself.
func (f *Filter) idles(l *parse.Line) bool {
	return len(f.parser.Frames)+len(f.parser.Elements) == 0 && l.Left == 0 && !l.Bare && !l.Split()
}
