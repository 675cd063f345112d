package match

import (
	"bytes"
	"iter"
)

// Lines finds the lines that may mean something to readers, in one pass for all of them.
type Lines struct {
	scan *Scan
	of   []Words
	most int
}

// NewLines returns a search for readers, each of which has texts of two bytes at least, one of which is in all lines that it reads. The bit
// of a reader is that of its number. Lines of more than most bytes are left out.
func NewLines(most int, readers ...[]string) *Lines {
	l := &Lines{most: most}
	var literals []Literal
	for i, texts := range readers {
		for _, text := range texts {
			literals = append(literals, Literal{Text: text, When: Always})
			l.of = append(l.of, 1<<i)
		}
	}
	l.scan = NewScan(literals, Always)
	return l
}

// Look returns which readers a line may mean something to.
func (l *Lines) Look(line []byte) (found Words) {
	l.scan.each(line, func(number, _ int) { found |= l.of[number] })
	return found
}

// Line is one of the lines that were searched.
type Line struct {
	// Number is that of the line, and Begin the offset of its begin in the lines that were searched.
	Number, Begin int
	// Text is the line without its end.
	Text []byte
}

// In yields those of the lines that may mean something, the first of all having a number. Only the last may be without its end.
func (l *Lines) In(first int, lines []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		number, counted := first, 0
		for at := l.scan.Next(lines, 0); at >= 0; at = l.scan.Next(lines, at) {
			begin, end := lineStart(lines, at), len(lines)
			if i := bytes.IndexByte(lines[at:], '\n'); i >= 0 {
				end = at + i
			}
			if at = end; end-begin > l.most {
				continue
			}
			number += bytes.Count(lines[counted:begin], []byte{'\n'})
			counted = begin
			if !yield(Line{Number: number, Begin: begin, Text: bytes.TrimRight(lines[begin:end], "\r")}) {
				return
			}
		}
	}
}
