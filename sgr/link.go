package sgr

import "bytes"

// Link reports whether a hyperlink is open: OSC 8 ; parameters ; URL, ended by BEL or ESC \. All text belongs to it until
// another one opens, or one without a URL closes it. The zero Link is none.
type Link bool

// Feed follows every hyperlink sequence in b.
func (l *Link) Feed(b []byte) {
	for {
		i := bytes.Index(b, []byte("\x1b]8;"))
		if i < 0 {
			return
		}
		b = b[i:]
		n := sequence(b)
		if n <= 2 { // not finished: no sequence
			b = b[2:]
			continue
		}
		content := bytes.TrimRight(b[4:n], "\x1b\\\a")
		if _, url, ok := bytes.Cut(content, []byte(";")); ok {
			*l = len(url) > 0
		}
		b = b[n:]
	}
}
