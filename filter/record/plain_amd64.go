package record

import "golang.org/x/sys/cpu"

var haveVector = cpu.X86.HasAVX2

// plainVector looks at p[:n] 32 bytes at a time, with AVX2. n is at least 32. It returns the first byte that must be escaped in a
// string, or the first that it did not look at since the vector would have reached past the end. Bytes from 0x80 on stop it if
// high is 0x80, and do not if it is 0.
//
//go:noescape
func plainVector(p *byte, n int, high uint8) int
