//go:build amd64 || arm64

package match

const (
	// least is how many bytes the vector search needs.
	least = 32 + Width - 1
	// short is the length of a text up to which it is copied to where bytes follow it.
	short = 64
)

// find returns the offset of the first four bytes that one of the sets has, or len(b).
func find(b []byte, s *Scan) int {
	if !haveVector {
		return findPortable(b, s)
	}
	i := 0
	for len(b)-i >= short {
		i += vector(&b[i], len(b)-i, &s.table, &s.filled)
		if s.at(b, i) {
			return i
		}
		i++ // nibbles of different literals, or a position near the end
	}
	if i == len(b) {
		return i
	}
	var tail [short + least]byte
	n := copy(tail[:short], b[i:])
	for k := 0; ; k++ {
		if k += vector(&tail[k], n+least-k, &s.table, &s.filled); k >= n {
			return len(b)
		}
		if s.at(b, i+k) {
			return i + k
		}
	}
}
