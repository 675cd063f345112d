package scan

import "math/bits"

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return c-'0' <= 9 }

// Decimal reads the decimal digits that stand at i. It fails without a digit, and on a number over 64 bits.
func Decimal(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	for ; i < len(b) && IsDigit(b[i]); i++ {
		d := uint64(b[i] - '0')
		if v > (1<<64-1-d)/10 {
			return 0, i, false
		}
		v = v*10 + d
	}
	return v, i, i > start
}

// Number returns the value of a field that is digits of a base of at most 16 and nothing else. It fails on an empty field, and on
// a number over 64 bits.
func Number(field []byte, base uint64) (v uint64, ok bool) {
	if base == 16 {
		v, end, ok := Hex(field, 0)
		return v, ok && end == len(field)
	}
	for _, c := range field {
		d := uint64(hexValues[c])
		if d >= base {
			return 0, false
		}
		hi, lo := bits.Mul64(v, base)
		sum, carry := bits.Add64(lo, d, 0)
		if hi|carry != 0 {
			return 0, false
		}
		v = sum
	}
	return v, len(field) > 0
}
