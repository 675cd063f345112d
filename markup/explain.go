package markup

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FieldError says what is wrong with an element.
type FieldError struct {
	// Offset is the place in the line, in bytes from 0.
	Offset int
	// Msg says what was expected there and what was found.
	Msg string
}

// Error is the message alone.
func (e *FieldError) Error() string { return e.Msg }

// sourceWidth is how many columns of a source line Explain shows, the marks of what was cut included.
const sourceWidth = 100

// Explain returns the message for an error of line, which is the lineNumber-th of the log, counted from 1. Where err is a
// *FieldError the message has three lines: what is wrong, with line number and byte column, then the source line, then a
// caret below the place. There is no line end after the last one. Bytes of the log that are not printable are shown
// as dots, so that they cannot steer the terminal, and of a long line only the surroundings of the place are shown.
func Explain(lineNumber int, line []byte, err error) string {
	var b strings.Builder
	b.WriteString("line ")
	b.WriteString(strconv.Itoa(lineNumber))
	var at *FieldError
	if !errors.As(err, &at) {
		b.WriteString(": " + err.Error())
		return b.String()
	}
	offset := min(max(at.Offset, 0), len(line))
	b.WriteString(":" + strconv.Itoa(offset+1) + ": " + err.Error() + "\n")
	source, caret := excerpt(line, offset)
	b.WriteString(source + "\n" + strings.Repeat(" ", caret) + "^")
	return b.String()
}

// excerpt returns the part of line around offset as printable columns, and the column of offset in it.
func excerpt(line []byte, offset int) (source string, caret int) {
	// No rune needs more than UTFMax bytes, so these bytes hold all columns that can be shown.
	from := max(0, offset-utf8.UTFMax*sourceWidth)
	to := min(len(line), offset+utf8.UTFMax*sourceWidth)
	for from > 0 && from < offset && !utf8.RuneStart(line[from]) {
		from++
	}
	before, after := harmless(line[from:offset]), harmless(line[offset:to])
	left, right := from > 0, to < len(line)
	if room := sourceWidth - min(len(after), sourceWidth/2); len(before) > room {
		before, left = before[len(before)-room:], true
	}
	if room := sourceWidth - len(before); len(after) > room {
		after, right = after[:room], true
	}
	if left && len(before) > 0 {
		before[0] = '…'
	}
	if right && len(after) > 0 {
		after[len(after)-1] = '…'
	}
	return string(before) + string(after), len(before)
}

// harmless returns one printable rune, of one column in most fonts, for each rune of b.
func harmless(b []byte) []rune {
	out := make([]rune, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\t':
			r = ' '
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r), unicode.Is(unicode.M, r):
			r = '.'
		}
		out = append(out, r)
		b = b[n:]
	}
	return out
}

// quoteWidth is how many columns of a field a message quotes.
const quoteWidth = 40

// quote puts a field of the log into a message.
func quote(field string) string {
	cut := field[:min(len(field), utf8.UTFMax*(quoteWidth+1))]
	runes := harmless([]byte(cut))
	if len(runes) > quoteWidth {
		return "'" + string(runes[:quoteWidth]) + "…'"
	}
	return "'" + string(runes) + "'"
}

// expectation puts participle's "unexpected token … (expected Address …)" into the words of the format. What is expected
// begins with a production's name or with a quoted word, after the colon that separates it.
func expectation(message string) string {
	_, what, ok := strings.Cut(message, "(expected ")
	if !ok {
		return "no further field"
	}
	what = strings.TrimLeft(what, "( ")
	what = strings.TrimPrefix(what, `":" `)
	what, _, _ = strings.Cut(strings.TrimLeft(what, "( "), " ")
	what = strings.TrimRight(what, ")?*+")
	if words, ok := fieldWords[what]; ok {
		return words
	}
	return strings.ReplaceAll(what, `"`, "'")
}

var fieldWords = map[string]string{
	"Address": "address", "Size": "size", "ModuleID": "module ID", "FrameNumber": "frame number", "BuildID": "build ID", "Mode": "mode",
	"PcType": "PC type 'ra' or 'pc'", "Pair": "key", "DumpType": "dump file type", `"elf"`: "module type 'elf'", `"load"`: "mmap type 'load'",
	"<modulename>": "module name", "<symbolname>": "name", "<rest>": "name", `":"`: "one more field",
}

// fieldAt quotes the field at an offset of the inside of an element.
func fieldAt(inside string, offset int) string {
	if offset >= len(inside) && !strings.HasSuffix(inside, ":") {
		return "the end of the element"
	}
	field, _, _ := strings.Cut(inside[min(offset, len(inside)):], ":")
	return quote(field)
}
