package parse

import (
	"bytes"

	"qss-filter/filter/scan"
)

// OpenDump returns the offset of a hexdict element that text opens at or behind from and does not close; -1 is none.
func OpenDump(text []byte, from int) int {
	for _, mark := range [...][]byte{OpenBraces, openAngles} {
		i := bytes.LastIndex(text[from:], mark)
		if i < 0 || !bytes.HasPrefix(text[from+i+len(mark):], HexdictTag) {
			continue
		}
		if !bytes.Contains(text[from+i:], Closing(mark[0] == '<')) {
			return from + i
		}
	}
	return -1
}

func Closing(alias bool) []byte {
	if alias {
		return closeAngles
	}
	return closeBraces
}

// Pair is a `KEY: VALUE` pair, with the place of the value in the text.
type Pair struct {
	Value
	Start, End int
}

// Pairs finds the pairs whose value may be an address. A log's prefix is none: its colons have no 0x behind them.
func Pairs(text []byte) []Pair {
	var pairs []Pair
	for i := 0; ; i++ {
		k := bytes.IndexByte(text[i:], ':')
		if k < 0 {
			return pairs
		}
		i += k
		start := i
		for start > 0 && IsKeyByte(text[start-1]) {
			start--
		}
		at := i + 1
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
		addr, end, ok := scan.Address(text, at)
		if start < i && ok && addr != 0 {
			pairs = append(pairs, Pair{Value{string(text[start:i]), addr}, at, end})
			i = end - 1
		}
	}
}

func IsKeyByte(c byte) bool {
	return scan.IsDigit(c) || scan.IsLetter(c) || c == '_'
}

type Value struct {
	Key  string
	Addr uint64
}

var (
	HexdictTag               = []byte("hexdict:")
	closeBraces, closeAngles = []byte("}}}"), []byte(">>>")
)
