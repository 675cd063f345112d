package stream

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// pairAVX2 looks at p[:n] 32 positions at a time. It returns the first position that holds a pair of the tables, or the first
// that it did not look at since the vector would have reached past the end.
//
//go:noescape
func pairAVX2(p *byte, n int, table *[64]byte) int

// findPair returns the offset of the first two bytes that begin a literal's pair, or len(b).
func findPair(b []byte, s *Scan) int {
	i := 0
	for haveAVX2 && len(b)-i >= 64 {
		i += pairAVX2(&b[i], len(b)-i, &s.table)
		if i+1 < len(b) && s.class[0][b[i]]&s.class[1][b[i+1]] != 0 {
			return i
		}
		i++ // nibbles of different literals, or a position near the end
	}
	return i + findPairPortable(b[i:], s)
}
