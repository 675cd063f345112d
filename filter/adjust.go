package filter

import (
	"bytes"

	"qss-filter/filter/frame"
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
	sanitizerWord = []byte("Sanitizer")
	summaryWord   = []byte("SUMMARY: ")
	errorWord     = []byte("ERROR: ")
	warningWord   = []byte("WARNING: ")
	threadWord    = []byte("ThreadSanitizer")
	runtimeError  = []byte("runtime error:")
	goPanic       = []byte("panic") // `panic: runtime error: index out of range`: of Go, not of UBSan
)

// note learns from a line. A report ends behind its summary, which belongs to it: what follows is somebody else's.
func (e *emitter) note(line []byte) {
	if i := bytes.Index(line, sanitizerWord); i >= 0 {
		before := line[:i]
		switch {
		case bytes.Contains(before, summaryWord):
		case bytes.Contains(before, warningWord) && bytes.Contains(line, threadWord):
			*e = rawEmitter
		case bytes.Contains(before, errorWord), bytes.Contains(before, warningWord):
			*e = movedEmitter
		}
		return
	}
	if i := bytes.Index(line, runtimeError); i >= 0 && !bytes.Contains(line[:i], goPanic) {
		*e = movedEmitter
	}
}

// over notes that the line at hand ended a report.
func (e *emitter) over(line []byte) {
	if *e != unknownEmitter && bytes.Contains(line, summaryWord) {
		*e = unknownEmitter
	}
}

// taking tells how a logged address is to be taken, in its low bits, and on what evidence, in those above.
type taking uint8

const (
	// exactly: the code is at the address.
	exactly taking = iota
	// returning: it is a return address, and the code is the call before it.
	returning
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
	byTag                        // the element's tag, or that it is a variable
	bySuffix                     // the element's suffix
	byOption                     // --adjust
	byHeader                     // the header of a report
	byTrampoline                 // the frame before is a signal trampoline
	byFormat                     // what the emitter of the format is known to print
	byRegister                   // what the register is for
)

// because returns a taking with its evidence.
func (t taking) because(e evidence) taking { return t | taking(e)<<howBits }

// how returns a taking without its evidence.
func (t taking) how() taking { return t & howMask }

// takeMarkup tells how the address of an element is to be taken. The evidence is weighed in this order: the element's own
// suffix, the emitter's header, what the frame before it was, and the tag: pc elements are exact, bt elements are return
// addresses unless the machine code shows something else.
func (f *Filter) takeMarkup(t *thread, typ markup.PCType, exact bool) taking {
	switch {
	case typ == markup.Exact:
		return exactly.because(bySuffix)
	case f.opt.Adjust == AdjustNone:
		return exactly.because(byOption)
	case f.opt.Adjust == AdjustRA:
		return returning.because(byOption)
	case typ == markup.ReturnAddress:
		return returning.because(bySuffix)
	case t.emitter == movedEmitter:
		return exactly.because(byHeader)
	case t.trampoline:
		return exactly.because(byTrampoline)
	case t.emitter == rawEmitter:
		return returning.because(byHeader)
	case exact:
		return exactly.because(byTag)
	}
	return probing
}

// takeText is the same for a frame of another format: what its emitter is known to print, and where that is not known the
// machine code, decides. first is set for the first frame of its stack.
func (f *Filter) takeText(t *thread, by frame.Convention, first bool) taking {
	switch {
	case by == frame.Exact:
		return exactly.because(byFormat)
	case f.opt.Adjust == AdjustNone:
		return exactly.because(byOption)
	case f.opt.Adjust == AdjustRA:
		return returning.because(byOption)
	case by == frame.Moved:
		return exactly.because(byFormat)
	case t.trampoline:
		return exactly.because(byTrampoline)
	case by == frame.Raw:
		return unwinding.because(byFormat)
	case t.emitter != unknownEmitter: // text of the sanitizers lies in the call already, TSan's too
		return exactly.because(byHeader)
	}
	switch {
	case by == frame.RawButFirst && first:
		return exactly.because(byFormat)
	case by == frame.RawButFirst:
		return unwinding.because(byFormat)
	case first:
		return probingFirst
	}
	return probing
}

// before reports whether the code is taken to lie before the logged address where nothing else is known of it.
func (t taking) before() bool {
	how := t.how()
	return how == returning || how == unwinding || how == probing
}

// back returns how many bytes before a logged address the code lies. A signal trampoline is never called: its address is
// that of its first instruction.
func (t taking) back(p symsrc.Probe) uint64 {
	switch t = t.how(); {
	case t == exactly, p.Trampoline:
		return 0
	case t == returning, p.Known && p.Returns && (t == unwinding || !p.Calls):
		return 1
	case p.Known && !p.Returns, p.Known && p.Calls && t == probingFirst, !p.Known && t == probingFirst:
		return 0
	}
	return 1
}
