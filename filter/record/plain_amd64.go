package record

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

// plainAVX2 looks at p[:n] 32 bytes at a time, n being 32 at least, and gives the first that does not stand for itself in a
// string, or the first that it did not look at, since the vector would have reached past the end. Bytes from 0x80 on stop it
// where high is 0x80, and do not where it is 0.
//
//go:noescape
func plainAVX2(p *byte, n int, high uint8) int

// plain returns how many bytes of text, at its begin, stand for themselves in a string; those from 0x80 on do not where high
// is 0x80, and do where it is 0.
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
