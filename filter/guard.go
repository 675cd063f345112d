package filter

import (
	"bytes"

	"qss-filter/filter/guard"
)

// A fault of this program must cost no line of a log: a panic while a line is handled leaves that line as it came, with what
// was held back before it, and the stream goes on. It is said once. There are three places that recover:
//
//	Line   one line
//	Lines  what is around lines; the known lines are off from then on
//	fetch  one query; its frame stays as it is
//
// What was held back before the line must not go with the output that the panic has discarded: see salvage.

// rescue is deferred around the handling of one line: after a panic *out becomes dst with what was held back and the line as
// it came.
func (f *Filter) rescue(out *[]byte, dst, line []byte) {
	if cause := recover(); cause != nil {
		f.broken(f.line, guard.Fault(cause))
		*out = f.untouched(dst, line)
	}
}

// untouched appends a line as it came, in the form that the output has, after what was held back when it began: that was written to
// the output that is lost, or is held back still.
func (f *Filter) untouched(dst, line []byte) []byte {
	f.parser.Quoted, f.text.Quoted, f.dump.open = false, false, false
	f.resolver.Prefetch.Drop()
	dst = f.text.Fold.Salvage(dst)
	return f.out.End(f.out.Abandon(dst, f.line, line))
}

// progress is how far Lines has come: what a panic over the next line must not cost.
type progress struct {
	n    int    // bytes of the lines that were handled
	out  []byte // the output up to there
	line int    // the number of the last line
}

// reach is called by what handles several lines at once, before each.
func (l *liner) reach(out []byte, n int) {
	l.text.Fold.Mark()
	l.reached = progress{n: n, out: out, line: l.line}
}

// rescueLines is deferred around Lines: after a panic the line reached leaves as it came, and the lines known are no longer used.
func (l *liner) rescueLines(out *[]byte, n *int, b []byte) {
	cause := recover()
	if cause == nil {
		l.reached.out = nil // a caller may have no more use for it, and thousands of filters be kept
		return
	}
	at := &l.reached
	l.known.off = true
	l.line = at.line + 1
	l.broken(l.line, guard.Fault(cause))
	end := bytes.IndexByte(b[at.n:], '\n') + 1
	if end == 0 {
		end = len(b) - at.n
	}
	*out, *n = l.untouched(at.out, b[at.n:at.n+end]), at.n+end
}
