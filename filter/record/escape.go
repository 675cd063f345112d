package record

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"qss-filter/symsrc"
)

// highBit is set in the bytes of characters beyond ASCII.
const highBit = 0x80

// AppendEscaped appends text as the inside of a JSON string (RFC 8259 §7). A byte that is not UTF-8 becomes U+FFFD, and valid is
// then false.
func AppendEscaped[S []byte | string](dst []byte, text S) (out []byte, valid bool) {
	begin := len(dst)
	dst = append(dst, text...)
	n := plain(dst[begin:], highBit)
	if n == len(text) {
		return dst, true
	}
	return appendEscaped(dst[:begin+n], []byte(text[n:]))
}

// appendEscaped is AppendEscaped for text that needs escapes. Bytes that stand for themselves are copied in runs.
func appendEscaped(dst, text []byte) (out []byte, valid bool) {
	valid = true
	for {
		n := plain(text, highBit)
		dst, text = append(dst, text[:n]...), text[n:]
		switch {
		case len(text) == 0:
			return dst, valid
		case text[0] < utf8.RuneSelf:
			dst, text = appendEscape(dst, text[0]), text[1:]
			continue
		}
		n = plain(text, 0)
		if utf8.Valid(text[:n]) {
			dst = appendVisible(dst, text[:n])
		} else {
			dst, valid = appendReplaced(dst, text[:n]), false
		}
		text = text[n:]
	}
}

// appendReplaced writes text with U+FFFD in place of each byte that is not UTF-8.
func appendReplaced(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst, text = appendRune(dst, r), text[n:]
	}
	return dst
}

// appendVisible writes text beyond ASCII, with escapes for characters that control a terminal or cannot be seen.
func appendVisible(dst, text []byte) []byte {
	if bytes.IndexFunc(text, symsrc.IsInvisible) < 0 {
		return append(dst, text...)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst, text = appendRune(dst, r), text[n:]
	}
	return dst
}

// appendRune writes a character, escaped if it cannot be seen.
func appendRune(dst []byte, r rune) []byte {
	if symsrc.IsInvisible(r) {
		return symsrc.AppendJSONRune(dst, r)
	}
	return utf8.AppendRune(dst, r)
}

// appendEscape writes a character of ASCII that must be escaped.
func appendEscape(dst []byte, c byte) []byte {
	const hexDigits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// special has the bytes of ASCII that must be escaped.
var special = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c == 0x7f || c == '"' || c == '\\'
	}
	return set
}()

// plainPortable is plain, eight bytes at a time.
func plainPortable(text []byte, high uint8) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, backslash, del := w^ones*'"', w^ones*'\\', w^ones*0x7f
		// The high bit of a byte is set if the byte is of ASCII and below the space, or one of the three. A borrow may set that
		// of the next byte, too; then the loop below finds nothing.
		stops := ((w-ones*' ')|(quote-ones)|(backslash-ones)|(del-ones))&^w | w&(ones*uint64(high))
		if stops&highs == 0 {
			continue
		}
		for k := range 8 {
			if c := text[i+k]; special[c] || c&high != 0 {
				return i + k
			}
		}
	}
	for i < len(text) && !special[text[i]] && text[i]&high == 0 {
		i++
	}
	return i
}
