package scan

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// xmlNames are the characters of the references that each document of XML has.
var xmlNames = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"', "apos": '\''}

// maxReference bounds a reference to a character, in bytes.
const maxReference = len("&#x10ffff;")

// Reference reads the reference of XML to a character that a text begins with, and returns how many bytes it takes. Of another text that is one
// character.
func Reference(text []byte) (n int, c rune) {
	if len(text) > 0 && text[0] == '&' {
		if end := bytes.IndexByte(text[:min(len(text), maxReference)], ';'); end > 0 {
			name := string(text[1:end])
			if c, ok := xmlNames[name]; ok {
				return end + 1, c
			}
			digits, base := strings.TrimPrefix(name, "#"), 10
			if hex, ok := strings.CutPrefix(digits, "x"); ok {
				digits, base = hex, 16
			}
			if v, err := strconv.ParseUint(digits, base, 31); err == nil && name[0] == '#' && utf8.ValidRune(rune(v)) {
				return end + 1, rune(v)
			}
		}
	}
	c, n = utf8.DecodeRune(text)
	return max(n, 1), c
}

// Unreference is Unescape for a text of a document of XML.
func Unreference(dst []byte, pos []int32, text []byte) ([]byte, []int32) {
	for i := 0; i < len(text); {
		end := len(text)
		if n := bytes.IndexByte(text[i:], '&'); n >= 0 {
			end = i + n
		}
		dst, pos = appendRun(dst, pos, text, i, end)
		if i = end; i == len(text) {
			break
		}
		from := len(dst)
		n, c := Reference(text[i:])
		if n > 1 {
			dst = utf8.AppendRune(dst, c)
		} else {
			dst = append(dst, '&')
		}
		for range len(dst) - from {
			pos = append(pos, int32(i))
		}
		i += n
	}
	return dst, append(pos, int32(len(text)))
}
