//go:build amd64 || arm64

package stream

// findPair returns the offset of the first two bytes that begin a literal's pair, or len(b).
func findPair(b []byte, s *Scan) int {
	i := 0
	for haveVector && len(b)-i >= 64 {
		i += pairVector(&b[i], len(b)-i, &s.table)
		if i+1 < len(b) && s.class[0][b[i]]&s.class[1][b[i+1]] != 0 {
			return i
		}
		i++ // nibbles of different literals, or a position near the end
	}
	return i + findPairPortable(b[i:], s)
}
