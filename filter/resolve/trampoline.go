package resolve

import (
	"bytes"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
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

// besideFrame is how far from a frame words stand that are about it, in bytes: a line may hold thousands of frames.
const besideFrame = 64

// handlerBeside reports whether gdb's words stand at a frame of a text.
func handlerBeside(text []byte, fr frame.Span) bool {
	return bytes.Contains(text[max(0, fr.Start-besideFrame):min(len(text), fr.End+besideFrame)], handlerCalled)
}

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
	return len(hint) > 0 && (parse.IsKeyByte(hint[0]) && (hint[0] < '0' || hint[0] > '9') || hint[0] == '~') && !bytes.HasPrefix(hint, []byte("n/a"))
}

// Interrupted notes, and reports, whether a text on a line, which has no frame, says that a signal interrupted the next frame.
func (t *Thread) Interrupted(line int, text []byte) bool {
	if !bytes.Contains(text, handlerCalled) {
		return false
	}
	t.trampoline, t.reduced = true, false
	if line-t.Stack.Line <= maxBetween {
		t.Stack.Line = line // the stack goes on
	}
	return true
}

// next forgets what the frame before was if that is of another stack than the next frame, on a line: nothing says that a signal interrupted
// that. first is set if it is the first one of its stack. Of stacks without numbers and without a headline any line of text is the end, unless
// it may be of another thread: then the frame before may have been a trampoline.
func (t *Thread) next(o *Processes, line int, first bool, fr *parse.Frame) {
	lines := 1 // from one frame to the next
	if fr.Hosts {
		lines = 2
	}
	apart := line-t.Stack.Line > lines && fr.Num.Empty() && fr.Run != frame.Announced
	switch {
	case !t.trampoline && t.above == nothingKnown:
	case first, apart && t == o.Unnamed:
		t.forget()
	case apart && t.trampoline:
		t.forget()
		t.above = maybeTrampoline
	}
}

// forget forgets what the frame before was.
func (t *Thread) forget() { t.trampoline, t.reduced, t.above = false, false, nothingKnown }

// ElementRule returns the rule of an element's address on a line, which without a summary would be rule.
func (r *Resolver) ElementRule(t *Thread, line []byte, addr uint64, rule Rule) Rule {
	return t.summed(line, addr, nil, rule)
}

// NextElement is next for a bt element of that number.
func (r *Resolver) NextElement(t *Thread, line int, number uint64) {
	if number == 0 || line-t.Stack.Line > maxLinesApart {
		t.forget()
	}
}
