package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// answer sets the place of the answer to a frame whose last part before it ends at i, in a format that never says " in "
// there itself: where it is said, this filter has been here before, and what follows on the line is its text.
func (f *Frame) answer(s *Search, b []byte, i int) {
	f.Gap = span(i, i)
	if bytes.HasPrefix(b[i:], inWord) {
		f.Gap.End = s.textEnd(b, i)
		f.Done = true
	}
	f.Whole.End = max(f.Whole.End, f.Gap.End)
}

// replace sets the place of the answer to what stands between two parts of a frame. " in " says as much as for answer.
func (f *Frame) replace(s *Search, b []byte, start, end int) {
	f.Gap = span(start, end)
	f.Done = bytes.HasPrefix(b[start:end], inWord) || s.endsWithLine(b[start:end])
}

// maxName bounds a function's name in bytes where nothing but its end tells where the frame ends.
const maxName = 1 << 16

// isName reports whether text may be a function's name as a demangler writes it: spaces stand in brackets, or the text ends
// as a signature does. Prose is not a name.
func (s *Search) isName(text []byte) bool {
	text = bytes.Trim(text, " \t")
	if len(text) == 0 || len(text) > maxName {
		return false
	}
	s.spend(len(text))
	depth, spaces := 0, 0
	for i, c := range text {
		switch c {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			depth--
		case ' ':
			if depth <= 0 {
				spaces++
				if scan.Has(text, i, " /") || scan.Has(text, i, " (") && !scan.Has(text, i, " (anonymous namespace)") {
					return false
				}
			}
		}
	}
	if bytes.HasPrefix(text, hereSlash) || bytes.HasPrefix(text, aboveSlash) {
		text = bytes.TrimLeft(text, ".") // a path in place of a name, as some take it from dladdr
	}
	if c := text[0]; scan.IsDigit(c) || c == '#' || c == '=' || c == '-' || c == ',' || c == '.' || c == ':' {
		return false
	}
	return spaces == 0 || spaces <= 8 && (bytes.IndexByte(text, '(') >= 0 &&
		(bytes.HasSuffix(text, closeParen) || bytes.HasSuffix(text, constWord) || text[len(text)-1] == ']'))
}

var (
	constWord  = []byte(" const")
	hereSlash  = []byte("./")
	aboveSlash = []byte("../")
)
