package sgr

import (
	"bytes"

	"github.com/mattn/go-runewidth"
)

// Width returns how many cells of a terminal a text takes, without its escape sequences: characters of East Asia take two, combining ones
// none.
func Width(text []byte) int {
	if bytes.IndexByte(text, 0x1b) >= 0 {
		text, _ = Strip(nil, nil, text)
	}
	for i, c := range text {
		if c < ' ' || c >= 0x7f {
			return i + runewidth.StringWidth(string(text[i:]))
		}
	}
	return len(text)
}
