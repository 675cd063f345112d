package filter

import "bytes"

// trampolineNames are what a frame is called whose code a signal handler returns to: by glibc and musl, in the vDSO of several
// machines, and on macOS.
var trampolineNames = [...]string{"__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "__vdso_rt_sigreturn",
	"__kernel_sigtramp_rt64", "__kernel_sigtramp64", "__kernel_sigtramp_rt32", "__kernel_sigtramp32", "_sigtramp"}

// namesTrampoline reports whether a log calls a frame so: that tells where the file that would show it is not at hand.
func namesTrampoline(hint []byte) bool {
	hint = withoutIn(hint)
	if len(hint) == 0 || hint[0] != '_' {
		return false
	}
	n := 0
	for n < len(hint) && isKeyByte(hint[n]) {
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

// interrupted notes a text without a frame that tells that the next frame was interrupted.
func (t *thread) interrupted(text []byte) {
	if bytes.Contains(text, handlerCalled) {
		t.trampoline = true
	}
}
