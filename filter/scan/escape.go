package scan

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeLen returns how many bytes the character at the start of the inside of a JSON string takes.
func EscapeLen(text []byte) int {
	switch {
	case len(text) < 2 || text[0] != '\\':
		return 1
	case text[1] == 'u' && len(text) >= 6:
		if _, paired := surrogates(text); paired {
			return 12
		}
		return 6
	}
	return 2
}

// surrogates reads the character beyond 16 bits that two escapes at the beginning of a text make up.
func surrogates(text []byte) (r rune, ok bool) {
	if len(text) < 12 || text[2]|0x20 != 'd' || text[6] != '\\' || text[7] != 'u' {
		return 0, false
	}
	high, _ := strconv.ParseUint(string(text[2:6]), 16, 32)
	low, _ := strconv.ParseUint(string(text[8:12]), 16, 32)
	r = utf16.DecodeRune(rune(high), rune(low))
	return r, r != utf8.RuneError
}

// Unescape appends the inside of a JSON string to dst without its escapes, and to pos, for each byte appended to dst, its
// offset in text. The last entry of pos is len(text). A character beyond ASCII takes the offset of its escape for all of its bytes.
func Unescape(dst []byte, pos []int32, text []byte) ([]byte, []int32) {
	for i := 0; i < len(text); {
		end := nextEscape(text, i)
		dst, pos = appendRun(dst, pos, text, i, end)
		if i = end; i == len(text) {
			break
		}
		from, at := len(dst), i
		dst, i = appendEscape(dst, text, i)
		for range len(dst) - from {
			pos = append(pos, int32(at))
		}
	}
	return dst, append(pos, int32(len(text)))
}

// AppendUnescaped appends the inside of a JSON string to dst without its escapes, as Unescape does.
func AppendUnescaped(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		end := nextEscape(text, i)
		dst = append(dst, text[i:end]...)
		if i = end; i < len(text) {
			dst, i = appendEscape(dst, text, i)
		}
	}
	return dst
}

// nextEscape returns where the next escape of text[i:] begins, len(text) if there is none.
func nextEscape(text []byte, i int) int {
	if n := bytes.IndexByte(text[i:], '\\'); n >= 0 {
		return i + n
	}
	return len(text)
}

// appendEscape appends the character that an escape at text[i] stands for, and returns where the escape ends.
func appendEscape(dst, text []byte, i int) (out []byte, end int) {
	n := EscapeLen(text[i:])
	switch n {
	case 1:
		return append(dst, text[i]), i + n
	case 2:
		return append(dst, unescaped(text[i+1])), i + n
	}
	r, paired := surrogates(text[i:])
	if !paired {
		v, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 32)
		if r = rune(v); err != nil {
			r = utf8.RuneError
		}
	}
	return utf8.AppendRune(dst, r), i + n
}

// appendRun appends text[from:end] and the offsets of its bytes.
func appendRun(dst []byte, pos []int32, text []byte, from, end int) ([]byte, []int32) {
	n := len(pos)
	pos = slices.Grow(pos, end-from)[:n+end-from]
	for i := range pos[n:] {
		pos[n+i] = int32(from + i)
	}
	return append(dst, text[from:end]...), pos
}

// unescaped returns the character that a backslash and c stand for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
