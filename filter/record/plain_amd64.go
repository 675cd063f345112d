package record

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// plainAVX2 looks at p[:n] 32 bytes at a time. n is at least 32. It returns the first byte that must be escaped in a string, or
// the first that it did not look at since the vector would have reached past the end. Bytes from 0x80 on stop it if high is 0x80,
// and do not if it is 0.
//
//go:noescape
func plainAVX2(p *byte, n int, high uint8) int

// plain returns how many bytes at the beginning of text stand for themselves in a string. Those from 0x80 on count if high is 0,
// and do not if it is 0x80.
func plain(text []byte, high uint8) int {
	i := 0
	if haveAVX2 && len(text) >= 32 {
		i = plainAVX2(&text[0], len(text), high)
		if len(text)-i >= 32 {
			return i
		}
	}
	return i + plainPortable(text[i:], high)
}
