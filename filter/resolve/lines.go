package resolve

import (
	"slices"
	"time"

	"qss-filter/filter/prefix"
	"qss-filter/symsrc"
)

// Machine code proves functions, and says little of lines: a comment that was added above them leaves the code as it was. Lines of a file
// that no build ID has verified are those of the log only if the file is older than the log. Otherwise they are marked.

// lines marks the lines of files that may be newer than the log.
type lines struct {
	// compared is set if the times of files are compared with those of the log: the caller has said when that was written.
	compared bool
	// written is the time at which all of the input was written, the zero Time if that is not known.
	written time.Time
	// prefix is what a logger wrote before the line at hand. at is when that line was written, once dated is set.
	prefix []byte
	at     time.Time
	dated  bool
	// marked are answers with marks, by those without.
	marked map[*Answer]*Answer
}

// begin begins a line with that prefix, which must not change before the next one.
func (l *lines) begin(prefix []byte) { l.prefix, l.dated = prefix, false }

// time returns when the line at hand was written, at the latest.
func (l *lines) time() time.Time {
	if !l.dated {
		l.at, l.dated = l.written, true
		if at, ok := prefix.Date(l.prefix, l.written); ok && (l.written.IsZero() || at.Before(l.written)) {
			l.at = at
		}
	}
	return l.at
}

// decides reports whether the time of a line decides how the lines of an answer are marked.
func (l *lines) decides(a *Answer) bool {
	return l.compared && a.byPath() && a.Module.ran == 0 && slices.ContainsFunc(a.Frames, func(fr symsrc.Frame) bool { return fr.Line > 0 })
}

// Dates reports the same of an answer for a frame.
func (r *Resolver) Dates(a *Answer) bool { return r.lines.decides(a) }

// mark returns an answer whose lines are marked if they may not be those of the log.
func (l *lines) mark(a *Answer) *Answer {
	if a.Space == symsrc.InScript && l.time().IsZero() { // a pipe is most often live, and the place has been compared with the script
		return a
	}
	if !l.decides(a) || !slices.ContainsFunc(a.Frames, func(fr symsrc.Frame) bool { return fr.Line > 0 && !fr.LineNow }) {
		return a
	}
	if changed := a.Files().Changed; !changed.IsZero() && changed.Before(l.time()) {
		return a
	}
	if known := l.marked[a]; known != nil {
		return known
	}
	marked := *a
	marked.Frames, marked.Printed = slices.Clone(a.Frames), nil
	for i := range marked.Frames {
		marked.Frames[i].LineNow = true
	}
	if l.marked == nil || len(l.marked) >= memoLimit {
		l.marked = map[*Answer]*Answer{}
	}
	l.marked[a] = &marked
	return &marked
}

// Written says when all of the input that follows was written, at the latest; the zero Time says that it is not known. From then on, lines
// of files that may be newer are marked.
func (r *Resolver) Written(at time.Time) { r.lines.compared, r.lines.written = true, at }

// Begin begins a line, before which a logger wrote prefix.
func (r *Resolver) Begin(prefix []byte) { r.lines.begin(prefix) }
