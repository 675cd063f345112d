// Package scan reads the smallest parts of a line of a log: spans, numbers, spaces, and the edges of words. The recognizers of
// prefixes, frames, mappings and markup are built on it.
//
// Most functions look at b[i:] and return the offset after what they read; they accept any i from 0 to len(b). scan.go holds spans,
// spaces and words, number.go decimals and numbers of other bases, hex.go the one reader and the one writer of hexadecimal digits.
package scan

// Span is a half-open range of byte offsets in a line. The zero Span is "not there".
type Span struct{ Start, End int }

// Empty reports whether the span holds nothing.
func (s Span) Empty() bool { return s.End <= s.Start }

// Of returns the bytes of the span.
func (s Span) Of(line []byte) []byte { return line[s.Start:s.End] }

// IsSpace reports whether c is a space or a tab.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' }

// IsLetter reports whether c is an ASCII letter of either case.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Has reports whether word stands at b[i]. Any i will do.
func Has(b []byte, i int, word string) bool {
	return i >= 0 && i <= len(b) && len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// EndsWith reports whether word stands before b[i], at or after from.
func EndsWith(b []byte, from, i int, word string) bool {
	return i-len(word) >= from && string(b[i-len(word):i]) == word
}

// Spaces returns the offset of the first byte at or after i that is neither a space nor a tab.
func Spaces(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// BackSpaces returns where the spaces and tabs before i begin, not before from.
func BackSpaces(b []byte, from, i int) int {
	for i > from && IsSpace(b[i-1]) {
		i--
	}
	return i
}

// BackDigits returns where the decimal digits before i begin, not before from.
func BackDigits(b []byte, from, i int) int {
	for i > from && IsDigit(b[i-1]) {
		i--
	}
	return i
}

// maxToken bounds, in bytes, how far BackToken looks.
const maxToken = 256

// BackToken returns where the run of bytes before i begins that are neither spaces nor controls, not before from and not over 256
// bytes.
func BackToken(b []byte, from, i int) int {
	for from = max(from, i-maxToken); i > from && b[i-1] > ' '; {
		i--
	}
	return i
}

// WordStart reports whether a word can begin at i: at from, or after a space, a tab or a line break.
func WordStart(b []byte, from, i int) bool { return i == from || IsSpace(b[i-1]) || b[i-1] == '\n' }

// WordEnd reports whether a word ends before i: a space, a tab, a line break, the backslash of one that is written as an escape, or
// the end of the text follows.
func WordEnd(b []byte, i int) bool {
	return i >= len(b) || IsSpace(b[i]) || b[i] == '\n' || b[i] == '\r' || b[i] == '\\'
}

// LineEnd reports whether nothing but spaces stands at i before the end of the text or a line break.
func LineEnd(b []byte, i int) bool {
	i = Spaces(b, i)
	return i >= len(b) || b[i] == '\n' || b[i] == '\r' || IsEscapedBreak(b, i)
}

// IsEscapedBreak reports whether a line break stands at i that is written as an escape, `\n` or `\r`.
func IsEscapedBreak(b []byte, i int) bool {
	return i+1 < len(b) && b[i] == '\\' && (b[i+1] == 'n' || b[i+1] == 'r')
}

// CutEnd splits a line into its text and its end.
func CutEnd(line []byte) (body, end []byte) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
		if n > 0 && line[n-1] == '\r' {
			n--
		}
	}
	return line[:n], line[n:]
}
