package parse

import (
	"bytes"

	"qss-filter/filter/scan"
)

// OpenDump returns the offset of a hexdict element that text opens at or after from and does not close, or −1.
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

// Closing returns the end of an element: `>>>` for one that begins with `<<<`, otherwise `}}}`.
func Closing(alias bool) []byte {
	if alias {
		return closeAngles
	}
	return CloseBraces
}

// Pair is a `KEY: VALUE` pair, with the place of the value in the text.
type Pair struct {
	Value
	Start, End int
}

// Pairs returns the pairs whose value may be an address. Those of a log's prefix are not: their colons have no 0x after them.
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

// IsKeyByte reports whether c may stand in the key of a pair.
func IsKeyByte(c byte) bool {
	return scan.IsDigit(c) || scan.IsLetter(c) || c == '_'
}

// Value is an address of a dump, with its key: the name of a register.
type Value struct {
	Key  string
	Addr uint64
}

// dumpTag is the length of what begins a dump.
var dumpTag = len(OpenBraces) + len(HexdictTag)

// HexdictTag is the tag of a dump.
var HexdictTag = []byte("hexdict:")

// CloseBraces ends an element of markup.
var CloseBraces = []byte("}}}")

// closeAngles ends one in its other form.
var closeAngles = []byte(">>>")
