package markup

import (
	"bytes"
	"math/bits"
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
		return scanHex(b[2:])
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
		return scanNumber(b, 10)
	}
	switch b[1] {
	case 'x', 'X':
		return scanHex(b[2:])
	case 'b', 'B':
		return scanNumber(b[2:], 2)
	case 'o':
		return scanNumber(b[2:], 8)
	}
	return scanNumber(b[1:], 8)
}

// scanNumber reads digits of the base, at least one; it fails beyond 64 bits.
func scanNumber(b []byte, base uint64) (n uint64, ok bool) {
	for _, c := range b {
		d := uint64(digits[c])
		if d >= base {
			return 0, false
		}
		hi, lo := bits.Mul64(n, base)
		sum, carry := bits.Add64(lo, d, 0)
		if hi|carry != 0 {
			return 0, false
		}
		n = sum
	}
	return n, len(b) > 0
}

// scanHex is scanNumber for base 16, which most digits of a log are in.
func scanHex(b []byte) (n uint64, ok bool) {
	for _, c := range b {
		d := digits[c]
		if d == 0xff || n>>60 != 0 {
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, len(b) > 0
}

// digits gives the value of each hexadecimal digit, 0xff for every other byte.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for v, c := range []byte("0123456789abcdef") {
		t[c] = byte(v)
	}
	for v, c := range []byte("ABCDEF") {
		t[c] = byte(10 + v)
	}
	return t
}()

func hexDigits(b []byte) bool {
	for _, c := range b {
		if digits[c] == 0xff {
			return false
		}
	}
	return len(b) > 0
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
