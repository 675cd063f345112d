package mapped

import "syscall"

// Release returns the memory of a mapped file to the system. Its bytes stay readable; they are mapped again when they are read.
func Release(mapped []byte) {
	_ = syscall.Madvise(mapped, syscall.MADV_DONTNEED) // without it there is more memory in use, and nothing else
}
