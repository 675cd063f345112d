// Package print writes what the filter adds to a log.
package print

import (
	"slices"

	"qss-filter/filter/scan"
)

// AppendRange appends a range of addresses with its mode: `[0x1000-0x1fff](rx)`. last is inclusive.
func AppendRange(dst []byte, start, last uint64, mode string) []byte {
	longest := len("[0x0123456789abcdef-0x0123456789abcdef]()") + len(mode)
	at := len(dst)
	dst = slices.Grow(dst, longest)[:at+longest]
	b := dst[at:]
	b[0], b[1], b[2] = '[', '0', 'x'
	n := 3 + scan.PutHex(b[3:], start)
	b[n], b[n+1], b[n+2] = '-', '0', 'x'
	n += 3
	n += scan.PutHex(b[n:], last)
	b[n], b[n+1] = ']', '('
	n += 2
	n += copy(b[n:], mode)
	b[n] = ')'
	return dst[:at+n+1]
}
