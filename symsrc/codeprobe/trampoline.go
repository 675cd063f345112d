package codeprobe

import (
	"bytes"
	stdelf "debug/elf"
	"qss-filter/symsrc/elf"
	"slices"
	"sync"
)

// trampolines are the addresses of the code that a signal handler returns to, as the call frame information without a
// table marks them; read when first asked for.
type trampolines struct {
	once  sync.Once
	spans []elf.Span // sorted
}

// SignalFrame looks the address up in the table of .eh_frame_hdr, or where there is none in all of .eh_frame, and in
// .debug_frame.
func (f *Code) SignalFrame(addr uint64) bool {
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
	return slices.ContainsFunc(f.signal.spans, func(s elf.Span) bool { return s.Covers(addr) })
}

// sigreturn is code that calls the kernel for the end of a signal handler: rt_sigreturn or sigreturn.
var sigreturn = map[stdelf.Machine][][]byte{
	stdelf.EM_X86_64: {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, // mov $15, %rax; syscall
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},             // mov $15, %eax; syscall
	},
	stdelf.EM_386: {
		{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},       // mov $173, %eax; int $0x80
		{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, // pop %eax; mov $119, %eax; int $0x80
	},
	stdelf.EM_AARCH64: {{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}}, // mov x8, #139; svc #0
	stdelf.EM_RISCV:   {{0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0}},    // li a7, 139; ecall
	stdelf.EM_ARM: {{0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, {0x77, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, // mov r7, #…; svc 0
		{0xad, 0x27, 0, 0xdf}, {0x77, 0x27, 0, 0xdf}}, // the same in Thumb
}

// IsSigreturn reports whether such code begins at the address.
func (f *Code) IsSigreturn(addr uint64) bool {
	b, _ := f.elf.Text(addr, 16)
	return slices.ContainsFunc(sigreturn[f.elf.Machine], func(code []byte) bool { return bytes.HasPrefix(b, code) })
}
