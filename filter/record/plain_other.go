//go:build !amd64 && !arm64

package record

// plain returns how many bytes at the beginning of text stand for themselves in a string. Those from 0x80 on count if high is 0,
// and do not if it is 0x80.
func plain(text []byte, high uint8) int { return plainPortable(text, high) }
