//go:build !amd64 && !arm64

package stream

// findPair returns the offset of the first two bytes that begin a literal's pair, or len(b).
func findPair(b []byte, s *Scan) int { return findPairPortable(b, s) }
