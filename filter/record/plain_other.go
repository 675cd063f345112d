//go:build !amd64

package record

// plain returns how many bytes of text, at its begin, stand for themselves in a string; those from 0x80 on do not where high
// is 0x80, and do where it is 0.
func plain(text []byte, high uint8) int { return plainPortable(text, high) }
