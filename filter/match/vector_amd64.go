package match

import "golang.org/x/sys/cpu"

var haveVector = cpu.X86.HasAVX2

// vector looks at p[:n] 32 positions at a time, with AVX2. It returns the first position that holds four bytes of the tables, the last one of which its
// bucket has, or the first that it did not look at since the vector would have reached past the end. n is at least least.
//
//go:noescape
func vector(p *byte, n int, table *[32 * Width]byte, filled *[buckets]uint32) int
