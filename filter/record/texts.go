package record

import (
	"bytes"
	"strconv"

	"qss-filter/filter/scan"
)

// AppendTexts appends the objects of lines that have only text, numbered from first on. Most lines have nothing to be escaped: one
// search for what must be escaped finds their ends, too.
func AppendTexts(dst, lines []byte, first int) []byte {
	var memory [64]byte
	begin := appendBegin(memory[:0], first)
	for len(lines) > 0 {
		before := len(dst)
		dst = append(dst, begin...)
		n := plain(lines, highBit)
		dst = append(dst, lines[:n]...)
		switch rest := lines[n:]; {
		case len(rest) > 0 && rest[0] == '\n':
			dst, lines = append(dst, '"', '}', '\n'), rest[1:]
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			dst, lines = append(dst, `","end":"\r\n"}`+"\n"...), rest[2:]
		default:
			size := n + bytes.IndexByte(rest, '\n') + 1
			if size == n {
				size = len(lines)
			}
			text, end := scan.CutEnd(lines[:size])
			dst, lines = AppendText(dst[:before], first, text, end), lines[size:]
		}
		first++
		if !countOn(begin[:len(begin)-len(textKey)]) {
			begin = appendBegin(begin[:0], first)
		}
	}
	return dst
}

// textKey stands between the number of a line and its text.
const textKey = `,"text":"`

// appendBegin writes what stands before the text of a line that has only text.
func appendBegin(dst []byte, number int) []byte { return append(AppendNumber(dst, number), textKey...) }

// countOn adds one to the decimal number at the end of text. ok is false if that takes another digit: then the number is wrong.
func countOn(text []byte) (ok bool) {
	for i := len(text) - 1; text[i]-'0' <= 9; i-- {
		if text[i] < '9' {
			text[i]++
			return true
		}
		text[i] = '0'
	}
	return false
}

// AppendNumber appends the beginning of the object of a line, with its number.
func AppendNumber(dst []byte, number int) []byte {
	return strconv.AppendInt(append(dst, `{"line":`...), int64(number), 10)
}

// CutNumber returns what an object has after the number of its line.
func CutNumber(object []byte) []byte {
	if i := bytes.IndexByte(object, ','); i >= 0 {
		return object[i:]
	}
	return nil
}

// AppendText appends the object of a line that has only text.
func AppendText(dst []byte, number int, text, end []byte) []byte {
	dst = appendString(AppendNumber(dst, number), "text", text)
	return append(appendEnd(dst, end), '}', '\n')
}
