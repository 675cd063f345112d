package resolve

import (
	"bytes"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// headline is what a headline says of the stacks below it.
type headline uint8

const (
	// noHeadline is the state before any headline.
	noHeadline headline = iota
	// movedHeadline is that of a sanitizer, which prints addresses that lie in the call already, except in TSan's own reports. The
	// address of a fault is exact. Either way nothing is subtracted.
	movedHeadline
	// rawHeadline is that of a report of TSan, which in markup prints return addresses, even for frame 0.
	rawHeadline
	// seastarHeadline is that of Seastar.
	seastarHeadline
	// perFlowHeadline is that of a stack of PerFlow, which prints return addresses only.
	perFlowHeadline
)

// emitter is what the log's headlines say of the program that prints the frames that follow.
type emitter struct {
	headline headline
	// fault is set if the headline names the program counter of a fault: the first frame is exact.
	fault bool
	// once is set if the headline is that of one stack, and not of a report that ends with a summary.
	once bool
	// begun is set once a frame has come after the headline.
	begun bool
	// signaled is set after the headline of an hs_err report for a signal, native after that of its native frames, and inNative after the
	// first of these.
	signaled, native, inNative bool
	// started is set once a line says that a program has ended, or another one begun.
	started bool
}

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
	faultWord   = []byte("(pc 0x")
	goPanic     = []byte("panic") // of Go's `panic: runtime error: index out of range`
)

// Words of others.
var (
	// Seastar's own headlines are `Reactor stalled for 8 ms on shard 0. Backtrace: 0x…`, `Aborting on shard 0.` and others, and its logger
	// begins a message with `[shard 0]`.
	onShard = []byte(" on shard ")
	inShard = []byte("[shard ")
	// PerFlow's line above each stack is `[1795191696932172754] Call Stack (depth: 4)`.
	callStack = []byte("] Call Stack ")
	depthWord = []byte("(depth: ")
	// hs_err says at which instruction a signal came, `SIGSEGV (0xb) at pc=0x00007f4ee736d0f9, pid=7`, and begins its native frames with
	// `Native frames: (J=compiled Java code, …`.
	signalNumber = []byte("(0x")
	atPC         = []byte(" at pc=0x")
	nativeFrames = []byte("Native frames: ")
	framesKey    = []byte("(J=")
	// What a program has printed ends before each test of GoogleTest, where a test may be a process, and with a shell's words for one that
	// a signal has ended.
	testRun    = []byte("[ RUN      ] ")
	testsRun   = []byte("[==========] Running ")
	dumpedWord = []byte("(core dumped)")
)

// Note notes the headline that a line may be.
func (e *emitter) Note(line []byte) {
	if i := bytes.Index(line, SanitizerWord); i >= 0 {
		before, fault := line[:i], bytes.Contains(line[i:], faultWord)
		switch {
		case bytes.Contains(before, SummaryWord):
		case bytes.Contains(before, warningWord) && bytes.Contains(line, threadWord):
			e.begin(rawHeadline, fault, false)
		case bytes.Contains(before, errorWord), bytes.Contains(before, warningWord):
			e.begin(movedHeadline, fault, false)
		}
		return
	}
	if i := bytes.Index(line, RuntimeError); i >= 0 && !bytes.Contains(line[:i], goPanic) {
		e.begin(movedHeadline, false, true)
		return
	}
	e.noteOthers(line)
}

// noteOthers notes the headline that a line may be of others than sanitizers. Most of their words have a bracket in them.
func (e *emitter) noteOthers(line []byte) {
	if bytes.Contains(line, onShard) {
		e.begin(seastarHeadline, false, true)
	}
	for i := bytes.IndexByte(line, '['); i >= 0; i = nextByte(line, i, '[') {
		switch word := line[i:]; {
		case bytes.HasPrefix(word, inShard):
			e.begin(seastarHeadline, false, true)
		case bytes.HasPrefix(word, testRun), bytes.HasPrefix(word, testsRun):
			e.started = true
		}
	}
	for i := bytes.IndexByte(line, '('); i >= 0; i = nextByte(line, i, '(') {
		switch before, word := line[:i], line[i:]; {
		case bytes.HasPrefix(word, depthWord) && bytes.HasSuffix(before, callStack):
			e.begin(perFlowHeadline, false, true)
		case bytes.HasPrefix(word, dumpedWord):
			e.started = true
		case bytes.HasPrefix(word, framesKey) && bytes.HasSuffix(before, nativeFrames):
			e.native, e.inNative = true, false
		case bytes.HasPrefix(word, signalNumber):
			e.signaled = e.signaled || bytes.Contains(word[:min(len(word), maxSignal)], atPC)
		}
	}
}

// maxSignal bounds `(0xb) at pc=0x`, with the number of any signal or exception.
const maxSignal = 32

// nextByte returns the index of the next c after b[i], or -1.
func nextByte(b []byte, i int, c byte) int {
	if k := bytes.IndexByte(b[i+1:], c); k >= 0 {
		return i + 1 + k
	}
	return -1
}

// begin notes a headline.
func (e *emitter) begin(h headline, fault, once bool) {
	e.headline, e.fault, e.once, e.begun = h, fault, once, false
}

// end notes that what the headline said holds no longer.
func (e *emitter) end() { e.begin(noHeadline, false, false) }

// End notes the end of a report, if the line at hand is its summary.
func (e *emitter) End(line []byte) {
	if e.headline != noHeadline && bytes.Contains(line, SummaryWord) {
		e.end()
	}
}

// frame notes that a frame has come whose address was adjusted so. A frame that was not adjusted as the headline says is of another stack, and
// one whose code contradicts the headline is of another program.
func (e *emitter) frame(a *Answer) {
	if e.headline == noHeadline {
		return
	}
	e.begun = true
	switch mode := a.adjustment.mode(); {
	case mode == moving || mode == oneLess:
		if a.Back != 0 && a.Back != further {
			e.end()
		}
	case mode != Exact && mode != oneLessExact && e.once && a.adjustment.evidence() != byHeader:
		e.end()
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

	modeBits = 4 // of an Adjustment without its evidence
	modeMask = 1<<modeBits - 1

	// doubtful is set if the frame before may be a signal trampoline, but there is no file that would show it: what looks like a return
	// address may be what the signal interrupted.
	doubtful Adjustment = 1 << 7
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

// evidence returns what decided on an adjustment.
func (t Adjustment) evidence() evidence { return evidence(t &^ doubtful >> modeBits) }

// mode returns an adjustment without its evidence.
func (t Adjustment) mode() Adjustment { return t & modeMask }

// AdjustMarkup returns the adjustment of an element's address. The evidence is weighed in this order: the element's own suffix,
// the headline above, the frame before it, and the tag. pc elements are exact. bt elements are return addresses unless the
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
	case t.Emitter.headline == movedHeadline:
		return t.moved()
	case t.trampoline:
		return Exact.Because(byTrampoline)
	case t.Emitter.headline == rawHeadline && !exact:
		return t.doubted(unwinding.Because(byHeader), false)
	case exact:
		return Exact.Because(ByTag)
	}
	return t.doubted(probing, false)
}

// moved returns the adjustment of a sanitizer's address. The first one is that of the fault if the headline names one.
func (t *Thread) moved() Adjustment {
	if t.trampoline || t.Emitter.fault && !t.Emitter.begun {
		return Exact.Because(byHeader)
	}
	return moving.Because(byHeader)
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
	case by == frame.Moved, by == frame.RawButFirst && first:
		return Exact.Because(byFormat)
	case by == frame.OneLess:
		return t.less(byFormat, first)
	case by == frame.Listed && t.headed(first, seastarHeadline):
		return t.less(byHeader, first)
	case by == frame.Strace && (t.trampoline || first):
		return stracedExact.Because(byFormat)
	case by == frame.Strace:
		return t.doubted(straced.Because(byFormat), first)
	case t.trampoline:
		return Exact.Because(byTrampoline)
	case by == frame.Listed && t.headed(first, perFlowHeadline):
		return t.doubted(unwinding.Because(byHeader), first)
	case by == frame.Raw, by == frame.RawButFirst:
		return t.doubted(unwinding.Because(byFormat), first)
	case by == frame.Sanitizers && (t.headed(first, movedHeadline) || t.headed(first, rawHeadline)):
		return t.moved() // in text, the addresses of all sanitizers lie in the call already
	case first:
		return probingFirst
	}
	return t.doubted(probing, first)
}

// doubted returns an adjustment that takes an address for a return address, and notes that it may be none.
func (t *Thread) doubted(a Adjustment, first bool) Adjustment {
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

// less returns the adjustment of an address of which the emitter has taken 1.
func (t *Thread) less(because evidence, first bool) Adjustment {
	if t.trampoline {
		return oneLessExact.Because(because)
	}
	return t.doubted(oneLess.Because(because), first)
}

// before reports whether the code is assumed to lie before the logged address if there is no machine code.
func (t Adjustment) before() bool { return t.back(symsrc.Probe{}) == 1 }

// further is the distance to the code after a logged address: 1 byte.
const further = ^uint64(0)

// back returns how many bytes before a logged address the code lies, or further. A signal trampoline is never called: its address is
// that of its first instruction.
func (t Adjustment) back(p symsrc.Probe) uint64 {
	if n := t.distance(p); n != 1 || !p.Thumb {
		return n
	}
	return 2
}

// distance is back for addresses without a bit that says what code they are of.
func (t Adjustment) distance(p symsrc.Probe) uint64 {
	mode := t.mode()
	switch {
	case mode == Exact, mode == stracedExact:
		return 0
	case mode == oneLessExact, mode == oneLess && p.Trampoline:
		return further
	case p.Trampoline:
		return 0
	case mode == Return:
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
	case unwinding, straced:
		return only(!p.Known || p.Returns)
	case probingFirst:
		return only(contradicts)
	}
	return only(!p.Known || p.Returns)
}

// Reasons why it is not clear how an address is to be adjusted.
const (
	calledOrInterrupted = "unclear: a return address, or what a signal interrupted, since the file of the frame before is missing"
	rawOrMoved          = "unclear: a return address, or one that lies in a call already"
)

// otherwise returns how many bytes before a logged address the code may lie as well, with the reason, or "".
func (t Adjustment) otherwise(p symsrc.Probe) (back uint64, why string) {
	mode := t.mode()
	switch {
	case t&doubtful != 0 && mode == oneLess:
		return further, calledOrInterrupted
	case t&doubtful != 0:
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

// above says what the frame before may have been, in a stack that a signal handler may have printed.
type above uint8

const (
	// nothingKnown is the state without a frame before it, or after one of which nothing is known.
	nothingKnown above = iota
	// namedFrame is the state after a frame whose file is at hand.
	namedFrame
	// maybeTrampoline is the state after a single frame without a file, which may be the trampoline between the signal's handler and what it
	// interrupted. After several of them the last one is what called the others.
	maybeTrampoline
)

// note notes a frame with its answer. top is set if the emitter leaves out the frames of its own handler. Whether the log names the
// frame's function is in named.
func (b *above) note(a *Answer, named, top bool) {
	switch {
	case len(a.Frames) > 0 || a.probed:
		*b = namedFrame
	case (*b == namedFrame || top) && !named && (a.Module == nil || keepsTrampoline(a.Module.Name)):
		*b = maybeTrampoline
	default:
		*b = nothingKnown
	}
}

// keepsTrampoline reports whether a file of that name, or what is in no file, may have the code that a signal handler returns to: the C
// library, or what the kernel maps.
func keepsTrampoline(module string) bool {
	name := module[strings.LastIndexByte(module, '/')+1:]
	for _, prefix := range [...]string{"libc.", "libc-", "libpthread", "ld-musl", "libsystem_platform", "[vdso", "linux-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == ""
}

// isNamed reports whether a log names the function of a frame.
func isNamed(hint []byte) bool {
	hint = parse.TrimHint(hint)
	return len(hint) > 0 && (parse.IsKeyByte(hint[0]) || hint[0] == '~') && !bytes.HasPrefix(hint, []byte("n/a"))
}

// Interrupted notes whether a text without a frame says that a signal interrupted the next frame.
func (t *Thread) Interrupted(text []byte) {
	if bytes.Contains(text, handlerCalled) {
		t.trampoline = true
	}
}
