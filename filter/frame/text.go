package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

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

// endsWithLine reports whether text ends in `:LINE` or `:LINE:COLUMN`, perhaps with a mark of lines or " (inlined)" after
// it or a parenthesis of inlining, or in `FILE(LINE,COLUMN)`: then the log names a source line already. A drive letter or a
// symbol's "::" does not match.
func (s *Search) endsWithLine(text []byte) bool {
	text = bytes.TrimRight(text, " \t")
	text = bytes.TrimSuffix(text, inlinedWord)
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, lineNowWord), approxWord)
	closed := bytes.HasSuffix(text, closeParen)
	text = bytes.TrimSuffix(text, closeParen)
	i := scan.BackDigits(text, 0, len(text))
	if i == len(text) || i < 2 {
		return false
	}
	return text[i-1] == ':' && text[i-2] != ':' || closed && endsWithParenLine(text[:i])
}

// endsWithParenLine reports whether text, which goes on in digits and a parenthesis, ends in `FILE.EXT(` or `FILE.EXT(LINE,`.
func endsWithParenLine(text []byte) bool {
	if n := len(text) - 1; text[n] == ',' {
		for text = text[:n]; n > 0 && scan.IsDigit(text[n-1]); n-- {
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
	approxWord  = []byte(symsrc.ApproxMark)
	lineNowWord = []byte(symsrc.LineNowMark)
	closeParen  = []byte(")")
	doubleColon = []byte("::")
	inWord      = []byte(" in ")
)

// textEnd returns where the text of a line ends that holds from: before the spaces at its end, and before a line break, one of
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
		if scan.IsEscapedBreak(b, i) {
			end = i
		}
	}
	for end > from && (scan.IsSpace(b[end-1]) || b[end-1] == '\r') {
		end--
	}
	return end
}
