package symsrc

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible returns a text with what could make a terminal do more than show it as `\x1b` or `\u202e`: control characters of one byte
// or of Unicode, what turns the direction of writing, and what takes no room. Names and paths in files may have any bytes. The beginning of
// an element of markup is escaped, too, so that a name is none when the log is filtered again.
func Visible(s string) string {
	if IsOrdinary(s) {
		return s
	}
	return string(AppendVisible(make([]byte, 0, len(s)+16), s))
}

// IsOrdinary reports whether a text is printable ASCII and has no three braces or angles, so that Visible returns it. Every name and path that
// is printed is looked at, hence in one pass, eight bytes at a time.
func IsOrdinary[T string | []byte](s T) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	rest := s
	for ; len(rest) >= 8; rest = rest[8:] {
		w := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24 |
			uint64(rest[4])<<32 | uint64(rest[5])<<40 | uint64(rest[6])<<48 | uint64(rest[7])<<56
		if (w|(w+ones)|(w-' '*ones))&highs != 0 { // not printable ASCII, or next to it
			return areOrdinary(s)
		}
		// The bytes have seven bits: a sum sets the eighth one of those that are not zero.
		angles, braces := (w^'<'*ones)+0x7f*ones, (w^'{'*ones)+0x7f*ones
		if opens := ^(angles & braces) & highs; opens&(opens>>8) != 0 { // two of three are in one word
			return areOrdinary(s)
		}
	}
	return areOrdinary(s[max(0, len(s)-len(rest)-2):]) // three may begin in the last word
}

// areOrdinary is IsOrdinary byte by byte.
func areOrdinary[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; unusual[c] && (c != '<' && c != '{' || i+2 < len(s) && s[i+1] == c && s[i+2] == c) {
			return false
		}
	}
	return true
}

// unusual are the bytes at which areOrdinary looks closer.
var unusual = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c >= 0x7f || c == '<' || c == '{'
	}
	return set
}()

// plain returns the number of bytes before the first one that is not printable ASCII.
func plain(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return i
		}
	}
	return len(s)
}

// AppendVisible appends what Visible returns.
func AppendVisible(dst []byte, s string) []byte {
	if IsOrdinary(s) {
		return append(dst, s...)
	}
	for s = Inert(s); len(s) > 0; {
		if n := plain(s); n > 0 {
			dst, s = append(dst, s[:n]...), s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		c := s[0]
		switch {
		case r == utf8.RuneError && n == 1 && c < 0xa0 || n == 1 && (c < ' ' || c == 0x7f):
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		case n > 1 && IsInvisible(r):
			dst = appendCodePoint(dst, r)
		default:
			dst = append(dst, s[:n]...)
		}
		s = s[n:]
	}
	return dst
}

// Inert returns a text in which the beginnings of elements of markup are escaped, as `{{\x7bsymbol:f}}}`.
func Inert(s string) string {
	if !hasMarkup(s) {
		return s
	}
	return element().ReplaceAllStringFunc(s, func(mark string) string { return fmt.Sprintf(`%s\x%02x%s`, mark[:2], mark[2], mark[3:]) })
}

// hasMarkup reports whether a text may have an element of markup. Names of Rust have three angles now and then.
func hasMarkup(s string) bool { return strings.Contains(s, "{{{") || strings.Contains(s, "<<<") }

// element returns what matches the beginning of an element of markup. It is compiled when it is needed, as few logs do.
var element = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\{\{\{|<<<)(?:symbol|pc|bt|data|reset|module|mmap|hexdict|dumpfile)(?::|}}}|>>>)`)
})

const hexDigits = "0123456789abcdef"

// appendCodePoint writes `\u202e` or `\U000e0041`.
func appendCodePoint(dst []byte, r rune) []byte {
	if r > 0xffff {
		return fmt.Appendf(dst, `\U%08x`, r)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// IsInvisible reports whether a character controls, of those beyond ASCII: C1, the line and paragraph separators, and the format
// characters (Unicode's Cf), among which are the marks of direction (UAX #9 §2), joiners and spaces without width, and tags. Signs
// that are written around digits are of that kind but seen.
func IsInvisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r < 0xad:
		return r <= 0x9f
	case r == 0x2028 || r == 0x2029:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// AppendJSONRune appends a character as the inside of a JSON string has it: \u202e, or two of these beyond 16 bits.
func AppendJSONRune(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return appendCodePoint(appendCodePoint(dst, high), low)
	}
	return appendCodePoint(dst, r)
}

// VisibleJSON returns a text of JSON in which no string holds what Visible escapes: it is written as JSON's escapes, which say the
// same.
func VisibleJSON(text []byte) []byte {
	isHidden := func(r rune) bool { return r == 0x7f || IsInvisible(r) }
	at := bytes.IndexFunc(text, isHidden)
	if at < 0 {
		return text
	}
	dst := append(make([]byte, 0, len(text)+64), text[:at]...)
	for text = text[at:]; len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		if isHidden(r) {
			dst = AppendJSONRune(dst, r)
		} else {
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
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
