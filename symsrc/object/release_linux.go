package object

import "syscall"

// release gives the memory of a mapped file back. Its bytes stay readable: what is read again is mapped again.
func release(mapped []byte) {
	_ = syscall.Madvise(mapped, syscall.MADV_DONTNEED) // without it there is more memory in use, and nothing else
}
