//go:build amd64 || arm64

package match

// find returns the offset of the first four bytes that one of the sets has, or len(b).
func find(b []byte, s *Scan) int {
	i := 0
	for haveVector && len(b)-i >= 64 {
		i += vector(&b[i], len(b)-i, &s.table)
		if s.at(b, i) != 0 {
			return i
		}
		i++ // nibbles of different literals, or a position near the end
	}
	return i + findPortable(b[i:], s)
}
