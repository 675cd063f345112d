package match

// haveVector holds on every 64-bit ARM processor that Go supports: the vectors belong to the base of ARMv8-A.
const haveVector = true

// vector looks at p[:n] 32 positions at a time, with NEON. It returns the first position that holds four bytes of the tables, or the
// first that it did not look at since the vector would have reached past the end. n is at least least.
//
//go:noescape
func vector(p *byte, n int, table *[32 * Width]byte, _ *[buckets]uint32) int
