package match

import (
	"bytes"
	"slices"
	"sync"

	"qss-filter/filter/scan"
	"qss-filter/sgr"
)

// plain is a line without escapes, which may hide what stands around a literal: those of a terminal, those in the strings of an object of
// JSON, and references of XML. A backslash in other lines means itself, as in paths of Windows.
type plain struct {
	text []byte
	pos  []int32 // the offset in the line of each byte of the text
	kind escapes // of the line, once it was read
	of   *room   // that the text stands in, nil if none was needed
}

// room is where lines are written without escapes.
type room struct {
	unquoted, stripped       []byte
	unquotedPos, strippedPos []int32
}

// rooms are those that no search needs.
var rooms = sync.Pool{New: func() any { return new(room) }}

// release returns the room to the pool.
func (p *plain) release() {
	if p.of != nil {
		rooms.Put(p.of)
		p.of = nil
	}
}

// escapes says what escapes a line has.
type escapes uint8

const (
	unread escapes = iota
	// none: the line is plain itself.
	none
	// removed: the text is the line without them.
	removed
	// kept: there are references of XML and other escapes, or the line is too long. Anything may stand around a literal.
	kept
)

// maxPlain bounds a line that is read without its escapes, in bytes.
const maxPlain = 1 << 12

// fits asks a literal at line[at:] about the line without its escapes.
func (p *plain) fits(l *Literal, line []byte, at int) bool {
	if p.kind == unread {
		p.read(line)
	}
	if p.kind != removed {
		return p.kind == kept
	}
	at, _ = slices.BinarySearch(p.pos, int32(at))
	if !l.stands(p.text, at) {
		return true // its text has an escape
	}
	begin := lineStart(p.text, at)
	end := len(p.text)
	if i := bytes.IndexByte(p.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	return l.Fits(p.text[begin:end], at-begin)
}

// read removes the escapes of a line.
func (p *plain) read(line []byte) {
	quoted := bytes.IndexByte(line, '\\') >= 0 && holdsObject(line)
	colored := bytes.IndexByte(line, 0x1b) >= 0
	referenced := holdsReference(line)
	switch {
	case !quoted && !colored && !referenced:
		p.kind = none
		return
	case len(line) > maxPlain, referenced && (quoted || colored):
		p.kind = kept
		return
	}
	p.kind = removed
	if p.of == nil {
		p.of = rooms.Get().(*room)
	}
	r := p.of
	if referenced {
		r.unquoted, r.unquotedPos = scan.Unreference(r.unquoted[:0], r.unquotedPos[:0], line)
		p.text, p.pos = r.unquoted, r.unquotedPos
		return
	}
	if quoted {
		r.unquoted, r.unquotedPos = scan.Unescape(r.unquoted[:0], r.unquotedPos[:0], line)
		p.text, p.pos, line = r.unquoted, r.unquotedPos, r.unquoted
		if bytes.IndexByte(line, 0x1b) < 0 {
			return
		}
	}
	r.stripped, r.strippedPos = sgr.Strip(r.stripped[:0], r.strippedPos[:0], line)
	if quoted {
		for i, at := range r.strippedPos {
			r.strippedPos[i] = r.unquotedPos[at]
		}
	}
	p.text, p.pos = r.stripped, r.strippedPos
}

// holdsObject reports whether a line may hold an object of JSON, or an array or a member of strings.
func holdsObject(line []byte) bool {
	for i := 0; ; i++ {
		k := bytes.IndexByte(line[i:], '"')
		if k < 0 {
			return false
		}
		i += k
		switch at := scan.BackSpaces(line, 0, i); {
		case at == 0, line[at-1] == '{', line[at-1] == '[':
			return true
		}
	}
}

// holdsReference reports whether a line may hold a reference of XML. Programs write `&` for other things.
func holdsReference(line []byte) bool {
	const longest = len("quot;")
	for {
		i := bytes.IndexByte(line, '&')
		if i < 0 {
			return false
		}
		line = line[i+1:]
		if len(line) > 0 && (line[0] == '#' || bytes.IndexByte(line[:min(len(line), longest)], ';') > 0) {
			return true
		}
	}
}
