package frame

import "bytes"

// skipBlanks returns the offset of the first byte at or after i that is neither blank nor tab.
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

// hexValue holds the values of hexadecimal digits of either case, and notHex for all other bytes.
var hexValue = func() (t [256]byte) {
	for c := range t {
		t[c] = notHex
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c], t[bytes.ToUpper([]byte{c})[0]] = byte(i), byte(i)
	}
	return t
}()

const notHex = 0x80

// hexDigit returns the value of a hexadecimal digit of either case.
func hexDigit(c byte) (byte, bool) {
	v := hexValue[c]
	return v, v != notHex
}

func isHex(c byte) bool { return hexValue[c] != notHex }

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

// endsWithLine reports whether text ends in `:LINE` or `:LINE:COLUMN`, perhaps with " (approximate)" or " (inlined)" behind
// it or a parenthesis of inlining, or in `FILE(LINE,COLUMN)`: then the log names a source line already. A drive letter or a
// symbol's "::" does not match.
func (s *Search) endsWithLine(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	text = bytes.TrimSuffix(text, inlinedWord)
	text = bytes.TrimSuffix(text, approxWord)
	closed := bytes.HasSuffix(text, closeParen)
	text = bytes.TrimSuffix(text, closeParen)
	i := len(text)
	for i > 0 && text[i-1]-'0' <= 9 {
		i--
	}
	if i == len(text) || i < 2 {
		return false
	}
	return text[i-1] == ':' && text[i-2] != ':' || closed && endsWithParenLine(text[:i])
}

// endsWithParenLine reports whether text, which goes on in digits and a parenthesis, ends in `FILE.EXT(` or `FILE.EXT(LINE,`.
func endsWithParenLine(text []byte) bool {
	if n := len(text) - 1; text[n] == ',' {
		for text = text[:n]; n > 0 && text[n-1]-'0' <= 9; n-- {
			text = text[:n-1]
		}
	}
	n := len(text) - 1
	if n < 0 || text[n] != '(' {
		return false
	}
	name := text[bytes.LastIndexByte(text, ' ')+1 : n]
	dot := bytes.LastIndexByte(name, '.')
	return dot > 0 && len(name)-dot <= len(".cpp") && !bytes.Contains(name, doubleColon)
}

var (
	inlinedWord = []byte(" (inlined)")
	approxWord  = []byte(" (approximate)")
	closeParen  = []byte(")")
	doubleColon = []byte("::")
	inWord      = []byte(" in ")
)

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

// bareHex reads hexadecimal digits without a prefix at i. It fails without a digit and on a number over 64 bits.
func bareHex(b []byte, i int) (v uint64, end int, ok bool) {
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

// has reports whether word stands at b[i].
func has(b []byte, i int, word string) bool {
	return i >= 0 && i <= len(b) && len(b)-i >= len(word) && string(b[i:i+len(word)]) == word
}

// endsWith reports whether word stands before b[i], at or after from.
func endsWith(b []byte, from, i int, word string) bool {
	return i-len(word) >= from && string(b[i-len(word):i]) == word
}

// textEnd returns where the text of a line ends that holds from: before the blanks at its end, and before a line break, one of
// a JSON string or one that is written as an escape. Beyond maxName it is cut.
func (s *Search) textEnd(b []byte, from int) int {
	end := min(len(b), from+maxName)
	if k := bytes.IndexByte(b[from:end], '\n'); k >= 0 {
		end = from + k
	}
	s.spendFast(end - from)
	for i := from; i < end; i++ {
		k := bytes.IndexByte(b[i:end], '\\')
		if k < 0 {
			break
		}
		i += k
		if isEscapedBreak(b, i) {
			end = i
		}
	}
	for end > from && (isBlank(b[end-1]) || b[end-1] == '\r') {
		end--
	}
	return end
}

// isEscapedBreak reports whether a line break stands at i as an escape.
func isEscapedBreak(b []byte, i int) bool {
	return i+1 < len(b) && b[i] == '\\' && (b[i+1] == 'n' || b[i+1] == 'r')
}

// atEnd reports whether nothing but blanks, or a line break, follows at i.
func atEnd(b []byte, i int) bool {
	i = skipBlanks(b, i)
	return i >= len(b) || b[i] == '\n' || b[i] == '\r' || isEscapedBreak(b, i)
}

// backBlanks returns where the blanks before i begin, not before from.
func backBlanks(b []byte, from, i int) int {
	for i > from && isBlank(b[i-1]) {
		i--
	}
	return i
}

// backDigits returns where the decimal digits before i begin, not before from.
func backDigits(b []byte, from, i int) int {
	for i > from && b[i-1]-'0' <= 9 {
		i--
	}
	return i
}

// backToken returns where the run of other bytes than blanks before i begins, not before from and not over 256 bytes.
func backToken(b []byte, from, i int) int {
	for from = max(from, i-256); i > from && b[i-1] > ' '; {
		i--
	}
	return i
}

// wordStart reports whether i is a place where a word can begin: the start of the text, or behind a blank.
func wordStart(b []byte, from, i int) bool { return i == from || isBlank(b[i-1]) || b[i-1] == '\n' }

// wordEnd reports whether a word ends before i: a blank, a line break or the end of the text follows.
func wordEnd(b []byte, i int) bool {
	return i >= len(b) || isBlank(b[i]) || b[i] == '\n' || b[i] == '\r' || b[i] == '\\'
}
