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
		if text[i] != '\\' {
			end := len(text)
			if n := bytes.IndexByte(text[i:], '\\'); n >= 0 {
				end = i + n
			}
			dst, pos = appendRun(dst, pos, text, i, end)
			i = end
			continue
		}
		n := EscapeLen(text[i:])
		from := len(dst)
		switch {
		case n == 1:
			dst = append(dst, text[i])
		case n == 2:
			dst = append(dst, unescaped(text[i+1]))
		default:
			r, paired := surrogates(text[i:])
			if !paired {
				v, err := strconv.ParseUint(string(text[i+2:i+6]), 16, 32)
				if r = rune(v); err != nil {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
		}
		for range len(dst) - from {
			pos = append(pos, int32(i))
		}
		i += n
	}
	return dst, append(pos, int32(len(text)))
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
