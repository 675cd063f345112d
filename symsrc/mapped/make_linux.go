package mapped

import (
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages behind memory, which begins with a page, as all large slices do, and is not written yet.
func adviseHuge(memory []byte) {
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, begin, uintptr(len(memory)), syscall.MADV_HUGEPAGE)
}
