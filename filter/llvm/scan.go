package llvm

import (
	"bytes"

	"qss-filter/filter/scan"
)

// node is an element of a line, or, without a tag, a piece of the text between two.
type node struct {
	whole, tag scan.Span
	// fields is the span of the fields with the colons between them. It is zero for an element without any.
	fields scan.Span
	// sgr is set for a text that is one of the escape sequences that llvm interprets.
	sgr bool
}

// next returns the next node of the line. An element begins with `{{{` and ends with the first `}}}` after that. Without a tag or
// an end it is text. The text between elements is split at the escape sequences that llvm interprets.
func (l *Filter) next() (n node, ok bool) {
	from := l.rest
	if from >= len(l.text) {
		return n, false
	}
	if l.element.whole.Start < from {
		l.element = l.nextElement(from)
	}
	e := &l.element
	if from == e.whole.Start {
		l.rest = e.whole.End
		return *e, true
	}
	begin, end := nextSGR(l.text, from, e.whole.Start)
	if begin == from {
		l.rest = end
		return node{whole: scan.Span{Start: begin, End: end}, sgr: true}, true
	}
	l.rest = begin
	return node{whole: scan.Span{Start: from, End: begin}}, true
}

var (
	opening = []byte("{{{")
	closing = []byte("}}}")
)

// nextElement returns the first element at or after from. If there is none, it returns an empty one at the line's end.
func (l *Filter) nextElement(from int) (n node) {
	for {
		b := bytes.Index(l.text[from:], opening)
		if b < 0 {
			break
		}
		b += from
		e := bytes.Index(l.text[b+len(opening):], closing)
		if e < 0 {
			break
		}
		inside := scan.Span{Start: b + len(opening), End: b + len(opening) + e}
		from = inside.End + len(closing)
		content := inside.Of(l.text)
		tag := bytes.IndexByte(content, ':')
		if tag == 0 || len(content) == 0 {
			continue
		}
		n.whole = scan.Span{Start: b, End: from}
		if tag < 0 {
			n.tag = inside
			return n
		}
		n.tag = scan.Span{Start: inside.Start, End: inside.Start + tag}
		n.fields = scan.Span{Start: n.tag.End + 1, End: inside.End}
		return n
	}
	n.whole = scan.Span{Start: len(l.text), End: len(l.text)}
	return n
}

// split splits the fields of an element at every colon into l.field, and counts them.
func (l *Filter) split(n *node) {
	l.count = 0
	if n.fields.Start == 0 {
		return
	}
	at := n.fields.Start
	for i := at; ; i++ {
		if i < n.fields.End && l.text[i] != ':' {
			continue
		}
		if l.count < len(l.field) {
			l.field[l.count] = scan.Span{Start: at, End: i}
		}
		l.count++
		if at = i + 1; i == n.fields.End {
			return
		}
	}
}

// nextSGR returns the span of the first escape sequence in line[from:to] that llvm interprets: ESC[0m, ESC[1m, ESC[30m to ESC[37m.
// If there is none, begin and end are to.
func nextSGR(line []byte, from, to int) (begin, end int) {
	for at := from; at < to; at++ {
		k := bytes.IndexByte(line[at:to], 0x1b)
		if k < 0 {
			break
		}
		at += k
		b := line[at:to]
		if len(b) < 4 || b[1] != '[' {
			continue
		}
		if (b[2] == '0' || b[2] == '1') && b[3] == 'm' {
			return at, at + 4
		}
		if len(b) >= 5 && b[2] == '3' && b[3] >= '0' && b[3] <= '7' && b[4] == 'm' {
			return at, at + 5
		}
	}
	return to, to
}
