package stream

// haveVector holds on every 64-bit ARM processor that Go supports: the vectors belong to the base of ARMv8-A.
const haveVector = true

// pairVector looks at p[:n] 32 positions at a time, with NEON. It returns the first position that holds a pair of the tables, or
// the first that it did not look at since the vector would have reached past the end. n is at least 33.
//
//go:noescape
func pairVector(p *byte, n int, table *[64]byte) int
