package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// AppendEscaped writes the inside of a JSON string (RFC 8259 §7). A byte that is not UTF-8 becomes U+FFFD; valid is false
// then.
func AppendEscaped[S []byte | string](dst []byte, text S) (out []byte, valid bool) {
	valid = true
	start := 0
	for i := 0; i < len(text); {
		if i += plain(text[i:]); i >= len(text) {
			break
		}
		if text[i] >= utf8.RuneSelf {
			r, n := decode(text[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			valid = false
			dst = utf8.AppendRune(append(dst, text[start:i]...), utf8.RuneError)
		} else {
			dst = appendEscape(append(dst, text[start:i]...), text[i])
		}
		i++
		start = i
	}
	return append(dst, text[start:]...), valid
}

// decode is utf8.DecodeRune for both kinds of text.
func decode[S []byte | string](text S) (rune, int) {
	return utf8.DecodeRuneInString(string(text[:min(len(text), utf8.UTFMax)]))
}

// appendEscape writes a character of ASCII that stands for something else in a string.
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

// special has the bytes that do not stand for themselves, and those of which more than one make a character.
var special = func() (set [256]bool) {
	for c := range set {
		set[c] = c < ' ' || c >= 0x7f || c == '"' || c == '\\'
	}
	return set
}()

// plain gives how many bytes of text, at its begin, stand for themselves: eight at a time while that lasts.
func plain[S []byte | string](text S) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	var b [8]byte
	for ; i+8 <= len(text); i += 8 {
		copy(b[:], text[i:i+8])
		w := binary.LittleEndian.Uint64(b[:])
		quote, backslash, del := w^ones*'"', w^ones*'\\', w^ones*0x7f
		// A byte's high bit is set where the byte is: below the blank, one of the three, or not ASCII. A borrow may set that
		// of the next byte too; then the loop below looks twice.
		if ((w-ones*' ')|(quote-ones)|(backslash-ones)|(del-ones)|w)&highs != 0 {
			break
		}
	}
	for i < len(text) && !special[text[i]] {
		i++
	}
	return i
}

// key begins a field of the object that is open.
func key(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), '"', ':')
}

// appendString writes a field that is a string, with its bytes beside it where they are not UTF-8.
func appendString[S []byte | string](dst []byte, name string, text S) []byte {
	dst, valid := AppendEscaped(append(key(dst, name), '"'), text)
	dst = append(dst, '"')
	if valid {
		return dst
	}
	dst = append(key(dst, name+"_base64"), '"')
	return append(base64.StdEncoding.AppendEncode(dst, []byte(text)), '"')
}

// appendFilled is appendString for text that is there.
func appendFilled[S []byte | string](dst []byte, name string, text S) []byte {
	if len(text) == 0 {
		return dst
	}
	return appendString(dst, name, text)
}

// appendHex writes a field that is a number as `"0x1150"`.
func appendHex(dst []byte, name string, v uint64) []byte {
	return append(strconv.AppendUint(append(key(dst, name), `"0x`...), v, 16), '"')
}

// appendInt writes a field that is a small number.
func appendInt(dst []byte, name string, v int) []byte {
	return strconv.AppendInt(key(dst, name), int64(v), 10)
}

// appendTrue writes a field that is set.
func appendTrue(dst []byte, name string, is bool) []byte {
	if !is {
		return dst
	}
	return append(key(dst, name), "true"...)
}

// AppendTexts writes lines that hold nothing, from number first on.
func AppendTexts(dst, lines []byte, first int) []byte {
	for len(lines) > 0 {
		n := bytes.IndexByte(lines, '\n') + 1
		if n == 0 {
			n = len(lines)
		}
		text, end := Cut(lines[:n])
		dst = AppendText(dst, first, text, end)
		lines = lines[n:]
		first++
	}
	return dst
}

// AppendText writes a line that holds nothing.
func AppendText(dst []byte, number int, text, end []byte) []byte {
	dst = appendInt(append(dst, '{'), "line", number)
	dst = appendEnd(appendString(dst, "text", text), end)
	return append(dst, '}', '\n')
}

// appendEnd writes how the line ends, where that is not as most lines do.
func appendEnd(dst, end []byte) []byte {
	if len(end) == 1 {
		return dst
	}
	return appendString(dst, "end", end)
}

// Cut splits a line into its text and its end.
func Cut(line []byte) (text, end []byte) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
		if n > 0 && line[n-1] == '\r' {
			n--
		}
	}
	return line[:n], line[n:]
}
