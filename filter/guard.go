package filter

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"

	"qss-filter/symsrc"
)

// A fault of this program must cost no line of a log: a panic while a line is handled leaves that line as it came, with what
// was held back before it, and the stream goes on. It is said once. There are three places that recover:
//
//	Line, finished, readable  one line
//	stream.step               what is around lines; the fast paths are off from then on
//	fetch                     one question; its frame stays as it is
//
// What was held back before the line must not go with the output that the panic has discarded: see mark and salvage.

// rescue is deferred around the handling of one line: after a panic *out becomes dst with what was held back and the line as
// it came.
func (f *Filter) rescue(out *[]byte, dst, line []byte) {
	cause := recover()
	if cause == nil {
		return
	}
	f.broken(fault(cause))
	dst = f.release(context.Background(), f.salvage(dst))
	if f.recorder != nil && f.recorder.open {
		f.recorder.forget() // the object is of the text alone
		*out = dst
		return
	}
	*out = f.untouched(dst, line)
}

// untouched appends a line as it came, in the form that the output has.
func (f *Filter) untouched(dst, line []byte) []byte {
	switch {
	case f.recorder != nil && f.llvm == nil:
		f.line--
		dst = f.texts(dst, line)
		f.line++
		return dst
	case f.llvm != nil && (len(line) == 0 || line[len(line)-1] != '\n'):
		return append(append(dst, line...), '\n') // as it ends every line
	}
	return append(dst, line...)
}

// progress is how far a step has come: what a panic over the next line must not cost.
type progress struct {
	base int    // where the lines that the step handles at once begin
	n    int    // bytes of these that were handled
	out  []byte // the output up to there
	line int    // the number of the last line; lines are not counted in the style of llvm
}

// mark is called before a line is handled: salvage makes good what is lost after it.
func (f *Filter) mark() {
	if f.llvm != nil {
		f.llvm.info.mark()
	} else {
		f.fold.mark()
	}
}

// reach is called by what handles several lines at once, before each.
func (f *Filter) reach(out []byte, n int) {
	f.fold.mark()
	f.reached.out, f.reached.n, f.reached.line = out, n, f.line
}

// reach is Filter.reach in the style of llvm.
func (l *llvmStyle) reach(out []byte, n int) {
	l.info.mark()
	l.reached.out, l.reached.n = out, n
}

// salvage appends what was held back at the mark: it was written to the output that is lost, or is held back still.
func (f *Filter) salvage(dst []byte) []byte {
	f.quoted, f.dump.open = false, false
	clear(f.scout.pending)
	if f.llvm != nil {
		return f.llvm.salvage(dst)
	}
	return f.fold.salvage(dst)
}

// rescue is deferred around a step: after a panic the line reached leaves as it came, and the step ends behind it.
func (r *stream) rescue(next *int, b []byte) {
	cause := recover()
	if cause == nil {
		return
	}
	f, at := r.f, &r.f.reached
	f.quick.off = true
	if f.llvm != nil {
		f.llvm.careful = true
	}
	f.line = at.line + 1
	f.broken(fault(cause))
	from := at.base + at.n
	*next = from + bytes.IndexByte(b[from:], '\n') + 1
	r.text = f.untouched(f.salvage(at.out), b[from:*next])
}

// broken says that this program is at fault, once.
func (f *Filter) broken(fault string) {
	f.rescued++
	f.warn("internal error", fmt.Sprintf("line %d: internal error%s; the line is left as it came, and so is each one after it "+
		"that leads there; please report it with the line", f.line, fault))
}

// fault describes a panic that is being recovered, with the place in this program's code that it came from.
func fault(cause any) string { return fmt.Sprintf("%s: %v", faultPlace(), cause) }

// faultPlace is the place in this program's code where the panic came from that is being recovered, "" where it is not known.
func faultPlace() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && strings.HasPrefix(frame.Function, modulePrefix) {
			return fmt.Sprintf(" in %s (%s:%d)", strings.TrimPrefix(frame.Function, modulePrefix), frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic" || frame.Function == "runtime.sigpanic"
		if !more {
			return ""
		}
	}
}

// modulePrefix is what the names of this program's functions begin with.
const modulePrefix = "qss-filter/"

// rescue is deferred around a question: after a panic there is no answer, for a reason.
func (got *found) rescue(q question) {
	cause := recover()
	if cause == nil {
		return
	}
	*got = found{addr: q.asked(), broken: fault(cause)}
	got.Files = &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: "internal error" + got.broken}
}
