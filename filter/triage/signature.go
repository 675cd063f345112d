package triage

import (
	"path"
	"strconv"
	"strings"
)

// Frame is what a signature is made of: a function, "" if it has no name, and the place of its code.
type Frame struct {
	Func, File, Module string
	Line               int // of File, 0 if that is not known
	// At is the offset of the code in the module, if Located is set.
	At      uint64
	Located bool
	// Foreign is symsrc.Frame.Foreign.
	Foreign bool
}

// depth is the number of frames in a signature.
const depth = 3

// Between separates the frames of a signature, as in the DEDUP_TOKEN of a sanitizer.
const Between = "--"

// Signature is the signature of a stack: its first three frames that are the program's own, or of its dependencies. A fault in one of these
// is known by where it is.
type Signature struct {
	own, other [depth]string
	n, others  int
}

// Add adds a function of the stack, the innermost first. It reports whether that is the program's own, by the rules.
func (s *Signature) Add(f *Frame, rules *Rules) bool {
	v := judge(f.Func, f.Module, f.File)
	name, own, dependent := v.name, rules.Own(f.Func, f.Module, f.File), v.own
	if rules.foreign(f.Foreign, f.Module, f.File) {
		own, dependent = false, false
	}
	switch {
	case name != "" && name != "??":
	case f.File != "" && f.Line > 0: // of JavaScript, where most functions have none
		name = path.Base(f.File) + ":" + strconv.Itoa(f.Line)
	default:
		if f.Module == "" || !f.Located {
			return false
		}
		name = path.Base(f.Module) + "+0x" + strconv.FormatUint(f.At, 16)
	}
	if !own && !dependent {
		if s.others < depth {
			s.other[s.others] = name
			s.others++
		}
		return false
	}
	if s.n < depth {
		s.own[s.n] = name
		s.n++
	}
	return own
}

// String returns the frames with `--` between them. They are the first ones of any kind if none is the program's own.
func (s *Signature) String() string {
	if s.n > 0 {
		return strings.Join(s.own[:s.n], Between)
	}
	return strings.Join(s.other[:s.others], Between)
}

// maxBetween bounds the distance in lines of two successive frames of a stack in formats without frame numbers.
const maxBetween = 3

// Run is where the frames of a stack stand.
type Run struct {
	last     uint64
	line     int
	numbered bool
}

// Begin returns the run that begins with a frame.
func Begin(line int, number uint64, numbered bool) Run { return Run{number, line, numbered} }

// Line returns the line of the last frame.
func (r *Run) Line() int { return r.line }

// Continue reports whether a frame of the same thread is the next one of the stack, and notes it if so. A frame whose number is not
// greater than that of the last one begins another stack, as #0 always does.
func (r *Run) Continue(line int, number uint64, numbered bool) bool {
	if r.numbered != numbered || numbered && number <= r.last || !numbered && line-r.line > maxBetween {
		return false
	}
	r.last, r.line = number, line
	return true
}
