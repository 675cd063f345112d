package resolve

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// emitter is what the log's headers say of the program that prints the frames that follow.
type emitter uint8

const (
	// unknownEmitter is the emitter before any header.
	unknownEmitter emitter = iota
	// movedEmitter prints addresses that lie in the call already, as all sanitizers do except in TSan's own reports. The address
	// of a fault is exact. Either way nothing is subtracted.
	movedEmitter
	// rawEmitter prints return addresses, even for frame 0, as TSan's reports in markup do.
	rawEmitter
)

// Words of the sanitizers' headers.
var (
	// SanitizerWord is in the names of all sanitizers.
	SanitizerWord = []byte("Sanitizer")
	// SummaryWord begins the last line of a report.
	SummaryWord = []byte("SUMMARY: ")
	// RuntimeError begins a message of UBSan.
	RuntimeError = []byte("runtime error:")

	errorWord   = []byte("ERROR: ")
	warningWord = []byte("WARNING: ")
	threadWord  = []byte("ThreadSanitizer")
	goPanic     = []byte("panic") // of Go's `panic: runtime error: index out of range`
)

// Note notes the header that a line may be. A report ends after its summary.
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

// Over notes the end of a report, if the line at hand is its summary.
func (e *emitter) Over(line []byte) {
	if *e != unknownEmitter && bytes.Contains(line, SummaryWord) {
		*e = unknownEmitter
	}
}

// Adjustment is how a logged address is adjusted, in its low bits, and on what evidence, in the bits above.
type Adjustment uint8

const (
	// Exact means that the code is at the address.
	Exact Adjustment = iota
	// Return means that it is a return address, and the code is the call before it.
	Return
	// unwinding means that the emitter prints return addresses. The address that a signal interrupted stands among them as it
	// is. If the frame of the signal's trampoline was not recognized, the machine code shows that no call ends there.
	unwinding
	// probing means that the machine code around the address decides. Without machine code it is a return address.
	probing
	// probingFirst is probing for the first frame of a stack. Without machine code it is exact.
	probingFirst

	modeBits = 3 // of an Adjustment without its evidence
	modeMask = 1<<modeBits - 1
)

// evidence is what decides on an adjustment.
type evidence uint8

const (
	// Without evidence the machine code decides.
	_ evidence = iota
	// ByTag is the element's tag, or that it is a variable.
	ByTag
	// bySuffix is the element's suffix.
	bySuffix
	// byOption is --adjust.
	byOption
	// byHeader is the header of a report.
	byHeader
	// byTrampoline is that the frame before is a signal trampoline.
	byTrampoline
	// byFormat is what the emitter of the format is known to print.
	byFormat
	// ByRegister is the purpose of the register.
	ByRegister
)

// Because returns an adjustment with its evidence.
func (t Adjustment) Because(e evidence) Adjustment { return t | Adjustment(e)<<modeBits }

// mode returns an adjustment without its evidence.
func (t Adjustment) mode() Adjustment { return t & modeMask }

// AdjustMarkup returns the adjustment of an element's address. The evidence is weighed in this order: the element's own suffix,
// the emitter's header, the frame before it, and the tag. pc elements are exact. bt elements are return addresses unless the
// machine code shows something else.
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

// AdjustText returns the adjustment of the address of a frame of another format. It depends on what the emitter is known to
// print, or otherwise on the machine code. first is set for the first frame of a stack.
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
	case t.Emitter != unknownEmitter: // in text, the addresses of all sanitizers lie in the call already
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

// before reports whether the code is assumed to lie before the logged address if there is no machine code.
func (t Adjustment) before() bool {
	mode := t.mode()
	return mode == Return || mode == unwinding || mode == probing
}

// back returns how many bytes before a logged address the code lies. A signal trampoline is never called: its address is
// that of its first instruction.
func (t Adjustment) back(p symsrc.Probe) uint64 {
	switch t = t.mode(); {
	case t == Exact, p.Trampoline:
		return 0
	case t == Return, p.Known && p.Returns && (t == unwinding || !p.Calls):
		return 1
	case p.Known && !p.Returns, p.Known && p.Calls && t == probingFirst, !p.Known && t == probingFirst:
		return 0
	}
	return 1
}

// Adjust is the option by which logged addresses are adjusted.
type Adjust uint8

const (
	// AdjustAuto decides by evidence in the log: suffix, header, format.
	AdjustAuto Adjust = iota
	// AdjustNone treats every address as exact.
	AdjustNone
	// AdjustRA treats every address as a return address, unless the log marks it as exact.
	AdjustRA
)

// trampolineNames are the functions that a signal handler returns to: of glibc and musl, of the vDSO of several machines, and of
// macOS.
var trampolineNames = [...]string{"__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "__vdso_rt_sigreturn",
	"__kernel_sigtramp_rt64", "__kernel_sigtramp64", "__kernel_sigtramp_rt32", "__kernel_sigtramp32", "_sigtramp"}

// namesTrampoline reports whether the log names one of them for a frame. That counts if the module's file is missing.
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

// handlerCalled is what gdb writes in place of the frame of a signal trampoline.
var handlerCalled = []byte("<signal handler called>")

// Interrupted notes whether a text without a frame says that a signal interrupted the next frame.
func (t *Thread) Interrupted(text []byte) {
	if bytes.Contains(text, handlerCalled) {
		t.trampoline = true
	}
}
