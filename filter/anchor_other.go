//go:build !amd64

package filter

// findPair returns the offset of the first two bytes that begin an anchor's pair, or len(b).
func findPair(b []byte, s *anchorScan) int { return findPairPortable(b, s) }
