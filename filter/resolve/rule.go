package resolve

import (
	"qss-filter/filter/frame"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

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

// Rule says how a logged address becomes that of the code: how it is adjusted in its low bits, and on what evidence in the bits above.
type Rule uint16

const (
	// exact means that the code is at the address.
	exact Rule = iota
	// afterCall means that it is a return address, and the code is the call before it.
	afterCall
	// unwinding means that the emitter prints return addresses. The address that a signal interrupted stands among them as it
	// is. If the frame of the signal's trampoline was not recognized, the machine code shows that no call ends there.
	unwinding
	// probing means that the machine code around the address decides. Without machine code it is a return address.
	probing
	// probingFirst is probing for the first frame of a stack. Without machine code it is exact.
	probingFirst
	// moving means that the address lies in the call already, unless the machine code shows that a call ends there.
	moving
	// oneLess means that the emitter has taken 1 from what the unwinder returned: from return addresses, which lie in the call then, and from
	// what a signal interrupted.
	oneLess
	// oneLessExact is oneLess for what a signal interrupted.
	oneLessExact
	// straced is unwinding for an offset in the file, unless the machine code shows that it is oneLess for one in the module.
	straced
	// stracedExact is straced for what a signal or a system call interrupted.
	stracedExact
	// either is unwinding where only the code at both places shows that it makes no difference.
	either
	// returning is a return address, or anything: only a call that ends there shows that. returningLess is as much less as emitters of
	// boards take away, and returningNear is one of the two.
	returning
	returningLess
	returningNear
	// threeLess is 3 less than the address of the code, and threeLessOrCall is that, unless a call lies there.
	threeLess
	threeLessOrCall

	modeBits = 4 // of a Rule without its evidence
	modeMask = 1<<modeBits - 1

	// doubtful is set if the frame before may be a signal trampoline, but there is no file that would show it: what looks like a return
	// address may be what the signal interrupted.
	doubtful Rule = 1 << 7
	// shifted is set if the emitter has taken 1 from the address, whatever it is of: that of a signal trampoline lies before it then.
	shifted Rule = 1 << 8
)

// Rules for addresses that are not of frames.
const (
	ExactByTag       = exact | Rule(byTag)<<modeBits
	ExactByRegister  = exact | Rule(byRegister)<<modeBits
	ReturnByRegister = afterCall | Rule(byRegister)<<modeBits
)

// evidence is what decides on a rule.
type evidence uint8

const (
	// Without evidence the machine code decides.
	_ evidence = iota
	// byTag is the element's tag, or that it is a variable.
	byTag
	// bySuffix is the element's suffix.
	bySuffix
	// byOption is --addresses.
	byOption
	// byHeader is the header of a report.
	byHeader
	// byTrampoline is that the frame before is a signal trampoline.
	byTrampoline
	// byFormat is what the emitter of the format is known to print.
	byFormat
	// byRegister is the purpose of the register.
	byRegister
)

// because returns a rule with its evidence.
func (r Rule) because(e evidence) Rule { return r | Rule(e)<<modeBits }

// evidence returns what decided on a rule.
func (r Rule) evidence() evidence { return evidence(r &^ (doubtful | shifted) >> modeBits) }

// mode returns a rule without its evidence.
func (r Rule) mode() Rule { return r & modeMask }

// Element returns the rule of an element's address. The evidence is weighed in this order: the element's own suffix,
// the headline above, the frame before it, and the tag. pc elements are exact. bt elements are return addresses unless the
// machine code shows something else.
func (o Adjust) Element(t *Thread, typ markup.PCType, isExact bool) Rule {
	switch {
	case typ == markup.Exact:
		return exact.because(bySuffix)
	case o == AdjustNone:
		return exact.because(byOption)
	case o == AdjustRA:
		return afterCall.because(byOption)
	case typ == markup.ReturnAddress:
		return afterCall.because(bySuffix)
	case t.Emitter.headline == movedHeadline:
		return t.moved()
	case t.trampoline:
		return t.interrupted()
	case t.Emitter.headline == rawHeadline && !isExact:
		return t.doubted(unwinding.because(byHeader), false)
	case isExact:
		return ExactByTag
	}
	return t.doubted(probing, false) | shifted
}

// interrupted returns the rule of the frame after a signal trampoline.
func (t *Thread) interrupted() Rule {
	if t.reduced {
		return oneLessExact.because(byTrampoline)
	}
	return exact.because(byTrampoline)
}

// moved returns the rule of a sanitizer's address. The first one is that of the fault if the headline names one.
func (t *Thread) moved() Rule {
	switch {
	case t.trampoline:
		return oneLessExact.because(byHeader)
	case t.Emitter.fault && !t.Emitter.begun:
		return exact.because(byHeader)
	}
	return moving.because(byHeader) | shifted
}

// Frame returns the rule of the address of a frame of another format. It depends on what the emitter is known to
// print, or otherwise on the machine code. first is set for the first frame of a stack.
func (o Adjust) Frame(t *Thread, by frame.Convention, first bool) Rule {
	switch {
	case by == frame.Exact:
		return exact.because(byFormat)
	case o == AdjustNone:
		return exact.because(byOption)
	case o == AdjustRA:
		return afterCall.because(byOption)
	case by == frame.Moved && t.trampoline && !first:
		return oneLessExact.because(byTrampoline)
	case by == frame.Moved:
		return exact.because(byFormat) | shifted
	case (by == frame.RawButFirst || by == frame.UnsaidButFirst) && first:
		return exact.because(byFormat)
	case by == frame.OneLess, by == frame.Either && t.trampoline:
		return t.less(byFormat, first)
	case by == frame.Listed && t.headed(first, seastarHeadline):
		return t.less(byHeader, first)
	case by == frame.Strace && (t.trampoline || first):
		return stracedExact.because(byFormat)
	case by == frame.Strace:
		return t.doubted(straced.because(byFormat), first)
	case t.trampoline:
		return t.interrupted()
	case by == frame.Either:
		return t.doubted(either.because(byFormat), first)
	case by == frame.Listed && t.headed(first, perFlowHeadline):
		return t.doubted(unwinding.because(byHeader), first)
	case by == frame.Darwin && first && t.headed(false, appleHeadline) && !t.Emitter.begun,
		by == frame.Raw && t.headed(false, counterHeadline) && !t.Emitter.begun:
		return exact.because(byHeader)
	case by == frame.Raw, by == frame.RawButFirst, by == frame.Darwin:
		return t.doubted(unwinding.because(byFormat), first)
	case by == frame.Sanitizers && (t.headed(first, movedHeadline) || t.headed(first, rawHeadline)):
		return t.moved() // in text, the addresses of all sanitizers lie in the call already
	case first:
		return probingFirst
	}
	return t.doubted(probing, first)
}

// doubted returns a rule that takes an address for a return address, and notes that it may be none.
func (t *Thread) doubted(a Rule, first bool) Rule {
	if t.above == maybeTrampoline && !first {
		a |= doubtful
	}
	return a
}

// headed reports whether a headline holds for the stack of the next frame, which is the first one of it if first is set.
func (t *Thread) headed(first bool, h headline) bool {
	e := &t.Emitter
	return e.headline == h && !(e.once && e.begun && first)
}

// less returns the rule of an address of which the emitter has taken 1.
func (t *Thread) less(because evidence, first bool) Rule {
	if t.trampoline {
		return oneLessExact.because(because)
	}
	return t.doubted(oneLess.because(because), first)
}

// before reports whether the code is assumed to lie before the logged address if there is no machine code.
func (r Rule) before() bool { return r.back(symsrc.Probe{}) == 1 }

// further is the distance to the code after a logged address: 1 byte. threeFurther is 3 bytes.
const (
	further      = ^uint64(0)
	threeFurther = ^uint64(2)
)

// back returns how many bytes before a logged address the code lies, or further. A signal trampoline is never called: its address is
// that of its first instruction.
func (r Rule) back(p symsrc.Probe) uint64 {
	if n := r.distance(p); n != 1 || !p.Thumb {
		return n
	}
	return 2
}

// distance is back for addresses without a bit that says what code they are of.
func (r Rule) distance(p symsrc.Probe) uint64 {
	mode := r.mode()
	switch {
	case mode == exact, mode == stracedExact:
		return 0
	case mode == oneLessExact, mode == oneLess && p.Trampoline:
		return further
	case mode == threeLess, mode == threeLessOrCall && !p.Calls:
		return threeFurther
	case mode == threeLessOrCall:
		return 0
	case p.Trampoline:
		return 0
	case mode == afterCall:
		return 1
	}
	contradicts := p.Known && p.Returns && !p.Calls // what is said to be moved
	switch mode {
	case moving:
		return only(contradicts)
	case oneLess:
		if p.Known && !p.Returns && !p.Calls {
			return further
		}
		return only(contradicts)
	case unwinding, straced, either:
		return only(!p.Known || p.Returns)
	case probingFirst:
		return only(contradicts)
	}
	return only(!p.Known || p.Returns)
}

// Reasons why it is not clear how an address is to be adjusted.
const (
	returnOrFault       = "unclear: a return address, or what a signal interrupted"
	calledOrInterrupted = "unclear: a return address, or what a signal interrupted, since the file of the frame before is missing"
	rawOrMoved          = "unclear: a return address, or one that lies in a call already"
)

// otherwise returns how many bytes before a logged address the code may lie as well, with the reason, or "".
func (r Rule) otherwise(p symsrc.Probe) (back uint64, why string) {
	mode := r.mode()
	switch {
	case mode == either && (r&doubtful != 0 || p.Known && !p.Returns && !p.Calls):
		return further, returnOrFault
	case mode == threeLessOrCall && p.Calls:
		return threeFurther, returnOrFault
	case mode == either, mode == threeLessOrCall:
		return 0, returnOrFault
	case r&doubtful != 0 && mode == oneLess:
		return further, calledOrInterrupted
	case r&doubtful != 0:
		return 0, calledOrInterrupted
	case p.Returns && p.Calls && !p.Trampoline && mode == probing:
		return 0, rawOrMoved
	case p.Returns && p.Calls && !p.Trampoline && mode == probingFirst:
		return 1, rawOrMoved
	}
	return 0, ""
}

// only returns the distance from a return address to the call before it, if it is one.
func only(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
