package filter

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendHex writes n in hexadecimal digits, without leading zeros.
func appendHex(dst []byte, n uint64) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 16)[:at+16]
	return dst[:at+putHex(dst[at:], n)]
}

// appendHex16 writes n in 16 hexadecimal digits.
func appendHex16(dst []byte, n uint64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, hexDigits(uint32(n>>32)))
	return binary.BigEndian.AppendUint64(dst, hexDigits(uint32(n)))
}

// appendRange writes a range of addresses with its mode: `[0x1000-0x1fff](rx)`. last is inclusive.
func appendRange(dst []byte, start, last uint64, mode string) []byte {
	const longest = len("[0x0123456789abcdef-0x0123456789abcdef](rwx)")
	at := len(dst)
	dst = slices.Grow(dst, longest)[:at+longest]
	b := dst[at:]
	b[0], b[1], b[2] = '[', '0', 'x'
	n := 3 + putHex(b[3:], start)
	b[n], b[n+1], b[n+2] = '-', '0', 'x'
	n += 3
	n += putHex(b[n:], last)
	b[n], b[n+1] = ']', '('
	n += 2
	n += copy(b[n:], mode)
	b[n] = ')'
	return dst[:at+n+1]
}

// putHex writes n in hexadecimal digits to b, which has room for 16, and gives how many they are.
func putHex(b []byte, n uint64) int {
	size := (bits.Len64(n|1) + 3) / 4
	high, low := hexDigits(uint32(n>>32)), hexDigits(uint32(n))
	if drop := 8 * uint(16-size); drop >= 64 {
		high, low = low<<(drop-64), 0
	} else {
		high, low = high<<drop|low>>(64-drop), low<<drop
	}
	binary.BigEndian.PutUint64(b, high)
	binary.BigEndian.PutUint64(b[8:], low)
	return size
}

// hexDigits returns the eight digits of n as the bytes of a big-endian number.
func hexDigits(n uint32) uint64 {
	v := uint64(n)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 0x0606060606060606) >> 4 & 0x0101010101010101
	return v + 0x3030303030303030 + letters*('a'-'0'-10)
}

// hexPrefix reads the hexadecimal digits, of either case, that b begins with, and gives how many they are. It is false for
// a number of more than 64 bits.
func hexPrefix(b []byte) (v uint64, n int, ok bool) {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for len(b)-n >= 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		lower := x | 0x20*each
		// Of each byte below 0x80 the high bit tells whether it is a digit, or a letter.
		digit := (x + (0x80-'0')*each) &^ (x + (0x80-'9'-1)*each)
		letter := (lower + (0x80-'a')*each) &^ (lower + (0x80-'f'-1)*each)
		bad := ^(digit | letter) | x
		if x&high != 0 {
			break // sums may have carried over
		}
		count := bits.TrailingZeros64(bad&high) / 8
		x = x&(0x0f*each) + letter&high>>7*9
		if count < 8 {
			x &= 1<<(8*count) - 1
		}
		x = (x<<4 | x>>8) & 0x00ff00ff00ff00ff
		x = (x<<8 | x>>16) & 0x0000ffff0000ffff
		x = (x<<16 | x>>32) & 0xffffffff >> (32 - 4*count)
		if v>>(64-4*count) != 0 {
			return 0, n, false
		}
		v = v<<(4*count) | x
		n += count
		if count < 8 {
			return v, n, true
		}
	}
	for ; n < len(b) && hexDigit[b[n]] < 16; n++ {
		if v>>60 != 0 {
			return 0, n, false
		}
		v = v<<4 | uint64(hexDigit[b[n]])
	}
	return v, n, true
}

// hexDigit gives the value of each hexadecimal digit, 255 for every other byte.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
		if v, ok := digits([]byte{byte(i)}, 16); ok {
			t[i] = byte(v)
		}
	}
	return t
}()
