package elfdwarf

import (
	"bytes"
	"debug/elf"
	"slices"
	"sync"
)

// trampolines are the addresses of the code that a signal handler returns to, as the call frame information without a
// table marks them; read when first asked for.
type trampolines struct {
	once  sync.Once
	spans []span // sorted
}

// SignalTrampoline reports whether an address is one of the code that a signal handler returns to: the frame after it was
// interrupted, not called. The call frame information says so by the letter S in the augmentation of its CIE (GCC,
// unwind-dw2.c), for a range that begins one byte early in glibc; else the code does, which is the same few instructions
// everywhere.
func (f *File) SignalTrampoline(addr uint64) (found bool) {
	f.askRuntime(func(r *File) {
		addr := f.codeAddr(addr)
		found = r.code.signalFrame(addr) || r.code.isSigreturn(addr)
	})
	if !found { // a debug file may have .debug_frame
		f.guard(func() { found = f.code.signalFrame(f.codeAddr(addr)) })
	}
	return found
}

// signalFrame looks the address up in the table of .eh_frame_hdr, or where there is none in all of .eh_frame, and in
// .debug_frame.
func (f *code) signalFrame(addr uint64) bool {
	eh, ok := f.frameSection()
	if ok {
		if signal, found := f.lookupFrame(&eh, addr); found {
			return signal
		}
	}
	f.signal.once.Do(func() {
		if ok && !f.hasFrameTable() {
			f.signal.spans = eh.scan()
		}
		if s, ok := f.debugFrames(); ok {
			f.signal.spans = append(f.signal.spans, s.scan()...)
		}
	})
	return slices.ContainsFunc(f.signal.spans, func(s span) bool { return s.covers(addr) })
}

// sigreturn is code that calls the kernel for the end of a signal handler: rt_sigreturn or sigreturn.
var sigreturn = map[elf.Machine][][]byte{
	elf.EM_X86_64: {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, // mov $15, %rax; syscall
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},             // mov $15, %eax; syscall
	},
	elf.EM_386: {
		{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},       // mov $173, %eax; int $0x80
		{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, // pop %eax; mov $119, %eax; int $0x80
	},
	elf.EM_AARCH64: {{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}}, // mov x8, #139; svc #0
	elf.EM_RISCV:   {{0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0}},    // li a7, 139; ecall
	elf.EM_ARM: {{0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, {0x77, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, // mov r7, #…; svc 0
		{0xad, 0x27, 0, 0xdf}, {0x77, 0x27, 0, 0xdf}}, // the same in Thumb
}

// isSigreturn reports whether such code begins at the address.
func (f *code) isSigreturn(addr uint64) bool {
	b, _ := f.text(addr, 16)
	return slices.ContainsFunc(sigreturn[f.machine], func(code []byte) bool { return bytes.HasPrefix(b, code) })
}
