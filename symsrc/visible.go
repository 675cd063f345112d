package symsrc

import (
	"strings"
	"unicode/utf8"
)

// Visible gives a text with what could make a terminal do more than show it as `\x1b` or `\u202e`: control characters of one byte
// or of Unicode, and what turns the direction of writing. Names and paths in files are anybody's.
func Visible(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return string(AppendVisible(append(make([]byte, 0, len(s)+16), s[:i]...), s[i:]))
		}
	}
	return s
}

// AppendVisible appends what Visible gives.
func AppendVisible(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		c := s[0]
		switch {
		case r == utf8.RuneError && n == 1 && c < 0xa0 || n == 1 && (c < ' ' || c == 0x7f):
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		case isUnprintable(r) && n > 1:
			dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = append(dst, s[:n]...)
		}
		s = s[n:]
	}
	return dst
}

// isUnprintable tells the characters of Unicode, of those beyond ASCII, that control: C1, the line and paragraph separators, and
// the marks of direction (Unicode UAX #9 §2).
func isUnprintable(r rune) bool {
	return 0x80 <= r && r <= 0x9f || r == 0x61c || r == 0x200e || r == 0x200f || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// VisibleLines is Visible for a text of several lines, which may have tabs.
func VisibleLines(s string) string {
	if Visible(s) == s {
		return s
	}
	var dst []byte
	for s != "" {
		n := strings.IndexAny(s, "\n\t")
		if n < 0 {
			return string(AppendVisible(dst, s))
		}
		dst = append(AppendVisible(dst, s[:n]), s[n])
		s = s[n+1:]
	}
	return string(dst)
}
