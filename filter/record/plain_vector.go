//go:build amd64 || arm64

package record

// plain returns how many bytes at the beginning of text stand for themselves in a string. Those from 0x80 on count if high is 0,
// and do not if it is 0x80.
func plain(text []byte, high uint8) int {
	i := 0
	if haveVector && len(text) >= 32 {
		i = plainVector(&text[0], len(text), high)
		if len(text)-i >= 32 {
			return i
		}
	}
	return i + plainPortable(text[i:], high)
}
