package markup

import (
	"bytes"

	"qss-filter/filter/scan"
)

// cut splits b at its first colon; more reports whether there is one.
func cut(b []byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(b, ':'); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// Address returns the value of a field that is an address: 0x and hexadecimal digits, or zeros alone. Leading zeros do not count to
// the 64 bits.
func Address(b []byte) (uint64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		return scan.Number(b[2:], 16)
	}
	return 0, isZeros(b)
}

func isZeros(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return len(b) > 0
}

// Integer returns the value of a field that is a number of a base of its own: decimal, hexadecimal after 0x, octal after 0, and
// what else llvm's getAsInteger takes.
func Integer(b []byte) (uint64, bool) {
	digits, base := integerDigits(b)
	return scan.Number(digits, base)
}

// integerDigits returns the digits of a %i, and their base: decimal, 0x, or 0 for octal; and 0X, 0b, 0B and 0o, which llvm's
// getAsInteger takes as well.
func integerDigits(b []byte) (digits []byte, base uint64) {
	if len(b) < 2 || b[0] != '0' {
		return b, 10
	}
	switch b[1] {
	case 'x', 'X':
		return b[2:], 16
	case 'b', 'B':
		return b[2:], 2
	case 'o':
		return b[2:], 8
	}
	return b[1:], 8
}

// allIn reports whether b is digits of a base.
func allIn(b []byte, base uint64) bool {
	for _, c := range b {
		if _, ok := scan.Number([]byte{c}, base); !ok {
			return false
		}
	}
	return len(b) > 0
}

// modeEnd returns where the letters r, w and x end that stand at b[at], each at most once, in this order and of either case.
func modeEnd(b []byte, at int) int {
	for _, letter := range []byte("rwx") {
		if at < len(b) && b[at]|0x20 == letter {
			at++
		}
	}
	return at
}

// Mode returns a field that is a mode in lower case, one or more of "rwx".
func Mode(field []byte) (mode string, ok bool) {
	if modeC.accepts(field) {
		return modeOf(field), true
	}
	return "", false
}
