package resolve

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// emitter is what the log's headers say of who prints the frames that follow.
type emitter uint8

const (
	// unknownEmitter: no header was seen.
	unknownEmitter emitter = iota
	// movedEmitter prints addresses that lie in the call already: every sanitizer but TSan's own reports. The address
	// of a fault is exact. Either way nothing is subtracted.
	movedEmitter
	// rawEmitter prints return addresses, even for frame 0: TSan's reports as markup.
	rawEmitter
)

var (
	SanitizerWord = []byte("Sanitizer")
	SummaryWord   = []byte("SUMMARY: ")
	errorWord     = []byte("ERROR: ")
	warningWord   = []byte("WARNING: ")
	threadWord    = []byte("ThreadSanitizer")
	RuntimeError  = []byte("runtime error:")
	goPanic       = []byte("panic") // `panic: runtime error: index out of range`: of Go, not of UBSan
)

// Note learns from a line. A report ends after its summary, which belongs to it.
func (e *emitter) Note(line []byte) {
	if i := bytes.Index(line, SanitizerWord); i >= 0 {
		before := line[:i]
		switch {
		case bytes.Contains(before, SummaryWord):
		case bytes.Contains(before, warningWord) && bytes.Contains(line, threadWord):
			*e = rawEmitter
		case bytes.Contains(before, errorWord), bytes.Contains(before, warningWord):
			*e = movedEmitter
		}
		return
	}
	if i := bytes.Index(line, RuntimeError); i >= 0 && !bytes.Contains(line[:i], goPanic) {
		*e = movedEmitter
	}
}

// Over notes that the line at hand ended a report.
func (e *emitter) Over(line []byte) {
	if *e != unknownEmitter && bytes.Contains(line, SummaryWord) {
		*e = unknownEmitter
	}
}

// Adjustment tells how a logged address is to be taken, in its low bits, and on what evidence, in those above.
type Adjustment uint8

const (
	// Exact: the code is at the address.
	Exact Adjustment = iota
	// returning: it is a return address, and the code is the call before it.
	Return
	// unwinding: the emitter prints return addresses. What a signal interrupted stands among them as it is, and where the frame
	// of the signal's trampoline could not be told, the machine code shows that no call ends there.
	unwinding
	// probing: the machine code around the address tells; where there is none to look at, it is a return address.
	probing
	// probingFirst is probing for the first frame of a stack: without machine code it is exact.
	probingFirst

	howBits = 3
	howMask = 1<<howBits - 1
)

// evidence is what decides on a taking.
type evidence uint8

const (
	noEvidence   evidence = iota // nothing: the machine code is asked
	ByTag                        // the element's tag, or that it is a variable
	bySuffix                     // the element's suffix
	byOption                     // --adjust
	byHeader                     // the header of a report
	byTrampoline                 // the frame before is a signal trampoline
	byFormat                     // what the emitter of the format is known to print
	ByRegister                   // what the register is for
)

// Because returns a taking with its evidence.
func (t Adjustment) Because(e evidence) Adjustment { return t | Adjustment(e)<<howBits }

// how returns a taking without its evidence.
func (t Adjustment) how() Adjustment { return t & howMask }

// AdjustMarkup tells how the address of an element is to be taken. The evidence is weighed in this order: the element's own
// suffix, the emitter's header, what the frame before it was, and the tag: pc elements are exact, bt elements are return
// addresses unless the machine code shows something else.
func (r *Resolver) AdjustMarkup(t *Thread, typ markup.PCType, exact bool) Adjustment {
	switch {
	case typ == markup.Exact:
		return Exact.Because(bySuffix)
	case r.opt.Adjust == AdjustNone:
		return Exact.Because(byOption)
	case r.opt.Adjust == AdjustRA:
		return Return.Because(byOption)
	case typ == markup.ReturnAddress:
		return Return.Because(bySuffix)
	case t.Emitter == movedEmitter:
		return Exact.Because(byHeader)
	case t.trampoline:
		return Exact.Because(byTrampoline)
	case t.Emitter == rawEmitter:
		return Return.Because(byHeader)
	case exact:
		return Exact.Because(ByTag)
	}
	return probing
}

// AdjustText is the same for a frame of another format: what its emitter is known to print, and where that is not known the
// machine code, decides. first is set for the first frame of its stack.
func (r *Resolver) AdjustText(t *Thread, by frame.Convention, first bool) Adjustment {
	switch {
	case by == frame.Exact:
		return Exact.Because(byFormat)
	case r.opt.Adjust == AdjustNone:
		return Exact.Because(byOption)
	case r.opt.Adjust == AdjustRA:
		return Return.Because(byOption)
	case by == frame.Moved:
		return Exact.Because(byFormat)
	case t.trampoline:
		return Exact.Because(byTrampoline)
	case by == frame.Raw:
		return unwinding.Because(byFormat)
	case t.Emitter != unknownEmitter: // text of the sanitizers lies in the call already, TSan's too
		return Exact.Because(byHeader)
	}
	switch {
	case by == frame.RawButFirst && first:
		return Exact.Because(byFormat)
	case by == frame.RawButFirst:
		return unwinding.Because(byFormat)
	case first:
		return probingFirst
	}
	return probing
}

// before reports whether the code is taken to lie before the logged address if nothing else is known of it.
func (t Adjustment) before() bool {
	how := t.how()
	return how == Return || how == unwinding || how == probing
}

// back returns how many bytes before a logged address the code lies. A signal trampoline is never called: its address is
// that of its first instruction.
func (t Adjustment) back(p symsrc.Probe) uint64 {
	switch t = t.how(); {
	case t == Exact, p.Trampoline:
		return 0
	case t == Return, p.Known && p.Returns && (t == unwinding || !p.Calls):
		return 1
	case p.Known && !p.Returns, p.Known && p.Calls && t == probingFirst, !p.Known && t == probingFirst:
		return 0
	}
	return 1
}

// Adjust tells how a logged address is taken.
type Adjust uint8

const (
	// AdjustAuto decides by evidence in the log: suffix, header, format.
	AdjustAuto Adjust = iota
	// AdjustNone takes every address as it stands.
	AdjustNone
	// AdjustRA takes every address for a return address, unless the log marks it as exact.
	AdjustRA
)

// trampolineNames are what a frame is called whose code a signal handler returns to: by glibc and musl, in the vDSO of several
// machines, and on macOS.
var trampolineNames = [...]string{"__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "__vdso_rt_sigreturn",
	"__kernel_sigtramp_rt64", "__kernel_sigtramp64", "__kernel_sigtramp_rt32", "__kernel_sigtramp32", "_sigtramp"}

// namesTrampoline reports whether a log calls a frame so: that tells where the file that would show it is not at hand.
func namesTrampoline(hint []byte) bool {
	hint = parse.TrimHint(hint)
	if len(hint) == 0 || hint[0] != '_' {
		return false
	}
	n := 0
	for n < len(hint) && parse.IsKeyByte(hint[n]) {
		n++
	}
	for _, name := range trampolineNames {
		if string(hint[:n]) == name {
			return true
		}
	}
	return false
}

// handlerCalled is what gdb writes in the place of such a frame.
var handlerCalled = []byte("<signal handler called>")

// Interrupted notes a text without a frame that tells that the next frame was interrupted.
func (t *Thread) Interrupted(text []byte) {
	if bytes.Contains(text, handlerCalled) {
		t.trampoline = true
	}
}
