package frame

import "bytes"

// skipBlanks gives the offset of the first byte at or after i that is neither blank nor tab.
func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// decimal reads digits at i. It fails on none, and on a number over 64 bits.
func decimal(b []byte, i int) (v uint64, end int, ok bool) {
	start := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		d := uint64(b[i] - '0')
		if v > (1<<64-1-d)/10 {
			return 0, i, false
		}
		v = v*10 + d
	}
	return v, i, i > start
}

// hexDigit gives the value of a hexadecimal digit of either case.
func hexDigit(c byte) (byte, bool) {
	switch {
	case c-'0' <= 9:
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// hexNumber reads `0x` and hexadecimal digits at i. It fails without a digit and on a number over 64 bits.
func hexNumber(b []byte, i int) (v uint64, end int, ok bool) {
	if i+2 >= len(b) || b[i] != '0' || b[i+1] != 'x' {
		return 0, i, false
	}
	i += 2
	start := i
	for ; i < len(b); i++ {
		d, isHex := hexDigit(b[i])
		if !isHex {
			break
		}
		if v>>60 != 0 {
			return 0, i, false
		}
		v = v<<4 | uint64(d)
	}
	return v, i, i > start
}

// indexFrom is bytes.Index from an offset, with offsets of b.
func indexFrom(b, sep []byte, from int) int {
	if from > len(b) {
		return -1
	}
	i := bytes.Index(b[from:], sep)
	if i < 0 {
		return -1
	}
	return from + i
}

// endsWithLine tells whether text ends in `:LINE` or `:LINE:COLUMN`, perhaps with " (approximate)" behind it or a
// parenthesis of inlining: then the log names a source line already. A drive letter or a symbol's "::" does not match.
func endsWithLine(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	text = bytes.TrimSuffix(text, []byte(" (approximate)"))
	text = bytes.TrimSuffix(text, []byte(")"))
	i := len(text)
	for i > 0 && text[i-1]-'0' <= 9 {
		i--
	}
	return i < len(text) && i > 1 && text[i-1] == ':' && text[i-2] != ':'
}

// buildID reads a parenthesis that names a build ID, in any of the spellings met: (BuildId: …), (Buildid: …),
// (Build-id:…), (Build ID: …). i is where it may begin, blanks included; end is behind its `)`.
func buildID(b []byte, i int) (id Span, end int, ok bool) {
	i = skipBlanks(b, i)
	if i >= len(b) || b[i] != '(' {
		return Span{}, i, false
	}
	i++
	if i+7 > len(b) || !foldEqual(b[i:i+5], "build") {
		return Span{}, i, false
	}
	i += 5
	if b[i] == ' ' || b[i] == '-' {
		i++
	}
	if i+3 > len(b) || !foldEqual(b[i:i+2], "id") || b[i+2] != ':' {
		return Span{}, i, false
	}
	i = skipBlanks(b, i+3)
	start := i
	for i < len(b) {
		if _, isHex := hexDigit(b[i]); !isHex {
			break
		}
		i++
	}
	id = Span{start, i}
	i = skipBlanks(b, i)
	if i >= len(b) || b[i] != ')' {
		return Span{}, i, false
	}
	return id, i + 1, true
}

// foldEqual compares b with a lower-case word, blind to the case of ASCII letters.
func foldEqual(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
