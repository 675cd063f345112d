package itanium

import "strconv"

// isCharArray reports whether a type is an array of char, of any length.
func (w *printer) isCharArray(n *node) bool {
	if n = argumentOf(n); n.kind != array {
		return false
	}
	of := argumentOf(n.a)
	return of == builtins['c'] || w.llvm && of.kind == word && of.text == "char"
}

// stringLiteral writes the elements of an array of char as a string. It is false, with nothing written, where one of them is
// no number that fits.
func (w *printer) stringLiteral(elements []*node) bool {
	for _, n := range elements {
		if n.kind != integer {
			return false
		}
		if _, err := strconv.ParseUint(n.text, 10, 8); err != nil {
			return false
		}
	}
	w.out = append(w.out, '"')
	escaped := false
	for _, n := range elements {
		c, _ := strconv.ParseUint(n.text, 10, 8)
		escaped = w.character(byte(c), escaped)
	}
	w.out = append(w.out, '"')
	return true
}

// shortEscapes are the letters that stand for the characters from 7 on.
const shortEscapes = "abtnvfr"

// character writes one of a string. Behind a numeric escape, a hex digit would be part of it: the string ends there, and
// another one begins. It reports whether c was such an escape.
func (w *printer) character(c byte, escaped bool) bool {
	switch {
	case c < 7:
		w.out = append(w.out, '\\', '0'+c)
		return true
	case c < 7+byte(len(shortEscapes)):
		w.out = append(w.out, '\\', shortEscapes[c-7])
	case c < ' ' || c == 0x7f:
		const hex = "0123456789ABCDEF"
		w.text("\\x")
		if c >= 16 {
			w.out = append(w.out, hex[c>>4])
		}
		w.out = append(w.out, hex[c&15])
		return true
	default:
		if c == '"' || c == '\\' {
			w.out = append(w.out, '\\')
		}
		if escaped && isHex(c) {
			w.text(`""`)
		}
		w.out = append(w.out, c)
	}
	return false
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
