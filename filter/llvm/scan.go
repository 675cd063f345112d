package llvm

import (
	"bytes"
	"io"

	"qss-filter/filter/scan"
)

// reader reads the line at hand, and collects messages about it.
type reader struct {
	// errors gets the messages, in color if errorColor is set. It may be nil.
	errors     io.Writer
	errorColor bool
	messages   []byte // not written yet
	// unsure counts the effects that the same line will not have again: messages, changes of the context, and answers that llvm
	// writes only once.
	unsure int

	// text is the line with its end, and rest the offset of the part that was not scanned yet.
	text []byte
	crlf bool // its end, and that of the lines added to it
	rest int
	// element is the next element at or after rest.
	element node
	// count is how many fields the element at hand has, and field the first of them. No element needs more.
	count int
	field [6]scan.Span
	// ended is a last line with an end added.
	ended []byte
}

// begin makes a line the one at hand, with an end if it has none.
func (r *reader) begin(line []byte) {
	if n := len(line); n == 0 || line[n-1] != '\n' {
		r.ended = append(append(r.ended[:0], line...), '\n')
		line = r.ended
	}
	r.text, r.rest = line, 0
	r.element.whole.Start = -1
	r.crlf = bytes.HasSuffix(line, []byte("\r\n"))
}

// lineEnd returns the end for lines that are added: that of the line at hand or, at the end of the log, of the last line.
func (r *reader) lineEnd() string {
	if r.crlf {
		return "\r\n"
	}
	return "\n"
}

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
func (r *reader) next() (n node, ok bool) {
	from := r.rest
	if from >= len(r.text) {
		return n, false
	}
	if r.element.whole.Start < from {
		r.element = r.nextElement(from)
	}
	e := &r.element
	if from == e.whole.Start {
		r.rest = e.whole.End
		return *e, true
	}
	begin, end := nextSGR(r.text, from, e.whole.Start)
	if begin == from {
		r.rest = end
		return node{whole: scan.Span{Start: begin, End: end}, sgr: true}, true
	}
	r.rest = begin
	return node{whole: scan.Span{Start: from, End: begin}}, true
}

var (
	opening = []byte("{{{")
	closing = []byte("}}}")
)

// nextElement returns the first element at or after from. If there is none, it returns an empty one at the line's end.
func (r *reader) nextElement(from int) (n node) {
	for {
		b := bytes.Index(r.text[from:], opening)
		if b < 0 {
			break
		}
		b += from
		e := bytes.Index(r.text[b+len(opening):], closing)
		if e < 0 {
			break
		}
		inside := scan.Span{Start: b + len(opening), End: b + len(opening) + e}
		from = inside.End + len(closing)
		content := inside.Of(r.text)
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
	n.whole = scan.Span{Start: len(r.text), End: len(r.text)}
	return n
}

// split splits the fields of an element at every colon into r.field, and counts them.
func (r *reader) split(n *node) {
	r.count = 0
	if n.fields.Start == 0 {
		return
	}
	at := n.fields.Start
	for i := at; ; i++ {
		if i < n.fields.End && r.text[i] != ':' {
			continue
		}
		if r.count < len(r.field) {
			r.field[r.count] = scan.Span{Start: at, End: i}
		}
		r.count++
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
