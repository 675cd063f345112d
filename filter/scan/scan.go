// Package scan reads the smallest parts of a line of a log: spans, numbers, spaces, and the edges of words. The recognizers of
// prefixes, frames, mappings and markup are built on it.
//
// Most functions look at b[i:] and return the offset after what they read; they accept any i from 0 to len(b).
package scan

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Span is a half-open range of byte offsets in a line. The zero Span is "not there".
type Span struct{ Start, End int }

// Empty reports whether the span holds nothing.
func (s Span) Empty() bool { return s.End <= s.Start }

// Of returns the bytes of the span.
func (s Span) Of(line []byte) []byte { return line[s.Start:s.End] }

// IsSpace reports whether c is a space or a tab.
func IsSpace(c byte) bool { return c == ' ' || c == '\t' }

// IsLetter reports whether c is an ASCII letter of either case.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Has reports whether word stands at b[i]. Any i will do.
func Has(b []byte, i int, word string) bool {
	return i >= 0 && i <= len(b) && len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// EndsWith reports whether word stands before b[i], at or after from.
func EndsWith(b []byte, from, i int, word string) bool {
	return i-len(word) >= from && string(b[i-len(word):i]) == word
}

// Spaces returns the offset of the first byte at or after i that is neither a space nor a tab.
func Spaces(b []byte, i int) int {
	for i < len(b) && IsSpace(b[i]) {
		i++
	}
	return i
}

// TrimLeft returns b without the spaces and tabs that it begins with.
func TrimLeft(b []byte) []byte { return b[Spaces(b, 0):] }

// BackSpaces returns where the spaces and tabs before i begin, not before from.
func BackSpaces(b []byte, from, i int) int {
	for i > from && IsSpace(b[i-1]) {
		i--
	}
	return i
}

// BackDigits returns where the decimal digits before i begin, not before from.
func BackDigits(b []byte, from, i int) int {
	for i > from && IsDigit(b[i-1]) {
		i--
	}
	return i
}

// maxToken bounds, in bytes, how far BackToken looks.
const maxToken = 256

// BackToken returns where the run of bytes before i begins that are neither spaces nor controls, not before from and not over 256
// bytes.
func BackToken(b []byte, from, i int) int {
	for from = max(from, i-maxToken); i > from && b[i-1] > ' '; {
		i--
	}
	return i
}

// WordStart reports whether a word can begin at i: at from, or after a space, a tab or a line break.
func WordStart(b []byte, from, i int) bool { return i == from || IsSpace(b[i-1]) || b[i-1] == '\n' }

// WordEnd reports whether a word ends before i: a space, a tab, a line break, the backslash of one that is written as an escape, or
// the end of the text follows.
func WordEnd(b []byte, i int) bool {
	return i >= len(b) || IsSpace(b[i]) || b[i] == '\n' || b[i] == '\r' || b[i] == '\\'
}

// LineEnd reports whether nothing but spaces stands at i before the end of the text or a line break.
func LineEnd(b []byte, i int) bool {
	i = Spaces(b, i)
	return i >= len(b) || b[i] == '\n' || b[i] == '\r' || IsEscapedBreak(b, i)
}

// IsEscapedBreak reports whether a line break stands at i that is written as an escape, `\n` or `\r`.
func IsEscapedBreak(b []byte, i int) bool {
	return i+1 < len(b) && b[i] == '\\' && (b[i+1] == 'n' || b[i+1] == 'r')
}

// CutEnd splits a line into its text and its end.
func CutEnd(line []byte) (body, end []byte) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
		if n > 0 && line[n-1] == '\r' {
			n--
		}
	}
	return line[:n], line[n:]
}

// notHex is what hexValues has for a byte that is no hexadecimal digit.
const notHex = 0x80

// hexValues holds the values of hexadecimal digits of either case.
var hexValues = func() (t [256]byte) {
	for c := range t {
		t[c] = notHex
	}
	for v := range byte(10) {
		t['0'+v] = v
	}
	for v := range byte(6) {
		t['a'+v], t['A'+v] = 10+v, 10+v
	}
	return t
}()

// IsHex reports whether c is a hexadecimal digit of either case.
func IsHex(c byte) bool { return hexValues[c] != notHex }

// IsHexField reports whether b is hexadecimal digits and nothing else.
func IsHexField(b []byte) bool {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		if _, all := eightValues(binary.LittleEndian.Uint64(b[i:])); !all {
			return false
		}
	}
	for ; i < len(b); i++ {
		if !IsHex(b[i]) {
			return false
		}
	}
	return len(b) > 0
}

// Hex reads the hexadecimal digits of either case that stand at i. end is the offset after them. It fails without a digit, and on
// a number over 64 bits; zeros in front do not count.
func Hex(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	for len(b)-i >= 8 && IsHex(b[i+7]) {
		x, all := eightValues(binary.LittleEndian.Uint64(b[i:]))
		if !all {
			break
		}
		if v>>32 != 0 {
			return 0, i, false
		}
		v = v<<32 | x
		i += 8
	}
	for ; i < len(b); i++ {
		d := hexValues[b[i]]
		if d == notHex {
			break
		}
		if v>>60 != 0 {
			return 0, i, false
		}
		v = v<<4 | uint64(d)
	}
	return v, i, i > start
}

// eightValues returns the number whose eight digits are the bytes of x, the first digit in the lowest one. all is false where
// one of them is no digit.
func eightValues(x uint64) (v uint64, all bool) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	lower := x | 0x20*each
	// Of each byte the high bit is set where it is a digit, or a letter. Of bytes from 0x80 the sums would carry over.
	digit := (x + (0x80-'0')*each) &^ (x + (0x80-'9'-1)*each)
	letter := (lower + (0x80-'a')*each) &^ (lower + (0x80-'f'-1)*each)
	if (digit|letter)&^x&high != high {
		return 0, false
	}
	x = x&(0x0f*each) + letter&high>>7*9
	x = (x<<4 | x>>8) & 0x00ff00ff00ff00ff
	x = (x<<8 | x>>16) & 0x0000ffff0000ffff
	return x<<16&0xffff0000 | x>>32&0xffff, true
}

// Address reads `0x` and the hexadecimal digits after it at i, as Hex does.
func Address(b []byte, i int) (v uint64, end int, ok bool) {
	if i+2 >= len(b) || b[i] != '0' || b[i+1] != 'x' {
		return 0, i, false
	}
	return Hex(b, i+2)
}

// HexEnd returns the offset after the hexadecimal digits that stand at i, however many they are.
func HexEnd(b []byte, i int) int {
	for i < len(b) && IsHex(b[i]) {
		i++
	}
	return i
}

// BackHex returns where the hexadecimal digits before i begin, not before from.
func BackHex(b []byte, from, i int) int {
	for i > from && IsHex(b[i-1]) {
		i--
	}
	return i
}

// AppendBytes appends the bytes that a field of hexadecimal digits stands for; an odd number of digits has a zero in front. It fails
// where the field is empty or holds anything else, and then appends nothing.
func AppendBytes(dst, field []byte) ([]byte, bool) {
	before, all := len(dst), byte(0)
	if len(field)%2 == 1 {
		all = hexValues[field[0]]
		dst, field = append(dst, all), field[1:]
	}
	at, n := len(dst), len(field)/2
	dst = slices.Grow(dst, n)[:at+n]
	for i := range dst[at:] {
		pair := field[2*i : 2*i+2]
		high, low := hexValues[pair[0]], hexValues[pair[1]]
		all |= high | low
		dst[at+i] = high<<4 | low
	}
	if all >= notHex || len(dst) == before {
		return dst[:before], false
	}
	return dst, true
}

// AppendHex appends n in hexadecimal digits, without leading zeros.
func AppendHex(dst []byte, n uint64) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 16)[:at+16]
	return dst[:at+PutHex(dst[at:], n)]
}

// AppendHex16 appends n in 16 hexadecimal digits.
func AppendHex16(dst []byte, n uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, eightDigits(uint32(n>>32)))
	return binary.BigEndian.AppendUint64(dst, eightDigits(uint32(n)))
}

// PutHex writes n in hexadecimal digits to b, which has room for 16, and returns how many they are.
func PutHex(b []byte, n uint64) int {
	size := (bits.Len64(n|1) + 3) / 4
	high, low := eightDigits(uint32(n>>32)), eightDigits(uint32(n))
	if drop := 8 * uint(16-size); drop >= 64 {
		high, low = low<<(drop-64), 0
	} else {
		high, low = high<<drop|low>>(64-drop), low<<drop
	}
	binary.BigEndian.PutUint64(b, high)
	binary.BigEndian.PutUint64(b[8:], low)
	return size
}

// eightDigits returns the eight digits of n as the bytes of a big-endian number.
func eightDigits(n uint32) uint64 {
	v := uint64(n)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 0x0606060606060606) >> 4 & 0x0101010101010101
	return v + 0x3030303030303030 + letters*('a'-'0'-10)
}

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
