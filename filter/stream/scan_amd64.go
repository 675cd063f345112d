package stream

import "golang.org/x/sys/cpu"

var haveVector = cpu.X86.HasAVX2

// pairVector looks at p[:n] 32 positions at a time, with AVX2. It returns the first position that holds a pair of the tables, or
// the first that it did not look at since the vector would have reached past the end. n is at least 33.
//
//go:noescape
func pairVector(p *byte, n int, table *[64]byte) int
