//go:build !amd64 && !arm64

package match

// find returns the offset of the first four bytes that one of the sets has, or len(b).
func find(b []byte, s *Scan) int { return findPortable(b, s) }
