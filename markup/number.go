package markup

import (
	"bytes"

	"qss-filter/filter/scan"
)

// cut splits b at its first colon; more tells whether there is one.
func cut(b []byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(b, ':'); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// scanAddress reads a %p: 0x and hexadecimal digits, or zeros alone. Leading zeros do not count to the 64 bits.
func scanAddress(b []byte) (uint64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		return scan.Number(b[2:], 16)
	}
	for _, c := range b {
		if c != '0' {
			return 0, false
		}
	}
	return 0, len(b) > 0
}

// scanInteger reads a %i: decimal, 0x, or 0 for octal; and 0X, 0b, 0B and 0o, which llvm's getAsInteger takes as well.
func scanInteger(b []byte) (uint64, bool) {
	if len(b) < 2 || b[0] != '0' {
		return scan.Number(b, 10)
	}
	switch b[1] {
	case 'x', 'X':
		return scan.Number(b[2:], 16)
	case 'b', 'B':
		return scan.Number(b[2:], 2)
	case 'o':
		return scan.Number(b[2:], 8)
	}
	return scan.Number(b[1:], 8)
}

// isMode wants one or more of r, w, x, in this order and of either case.
func isMode(b []byte) bool {
	n := 0
	for _, letter := range []byte("rwx") {
		if n < len(b) && b[n]|0x20 == letter {
			n++
		}
	}
	return n > 0 && n == len(b)
}
