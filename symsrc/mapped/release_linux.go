package mapped

import "syscall"

// Release gives the memory of a mapped file back to the system. Its bytes stay readable: what is read again is mapped again.
func Release(mapped []byte) {
	_ = syscall.Madvise(mapped, syscall.MADV_DONTNEED) // without it there is more memory in use, and nothing else
}
