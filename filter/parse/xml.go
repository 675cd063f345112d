package parse

import (
	"bytes"
	"unicode/utf8"

	"qss-filter/filter/frame"
	"qss-filter/filter/scan"
)

// A log may hold a document of XML, as the JUnit reports of ctest, GoogleTest, pytest and others are. It begins with a declaration at the
// beginning of a line and ends with its root element (XML 1.0 §2.1). Frames stand in its texts, its sections of CDATA and the values of its
// attributes. What is added there is escaped, and the rest of the document stays as it is.

// XML is where in a document of XML a text stands.
type XML uint8

// Places of texts. Outside is that of text that is not in a document.
const (
	OutsideXML XML = iota
	XMLText
	XMLValue // of an attribute
	CDATA
)

// xmlState is a place in a document at the beginning of a line.
type xmlState struct {
	// in is what the place is in.
	in xmlPart
	// quote ends the value of an attribute.
	quote byte
	// depth is how many elements are open. rooted is set once one was.
	depth  int
	rooted bool
	// slash is set after the last byte of a tag's text, if that is one.
	slash, closing bool
}

// xmlPart is a part of a document.
type xmlPart uint8

const (
	noDocument xmlPart = iota
	inText
	inTag
	inValue
	inCDATA
	inComment
	inInstruction // or a declaration of a type
	inUnknown     // after a line that was not read: nothing is added any more
	illFormed
)

// documents are the places in documents at the beginnings of lines, by their numbers: a line may be read ahead, and again.
type documents struct {
	at     map[int]xmlState
	latest int  // the last line with a place
	open   bool // a document goes on after it
}

// maxPlaces is how many places are remembered: more than the lines that are read ahead.
const maxPlaces = 1 << 12

var (
	xmlDeclaration = []byte("<?xml ")
	cdataBegin     = []byte("<![CDATA[")
	cdataEnd       = []byte("]]>")
	commentBegin   = []byte("<!--")
	commentEnd     = []byte("-->")
	// referencedBreak is a line break in the value of an attribute, where another one means a space.
	referencedBreak = []byte("&#10;")
)

// InXML reports whether the lines that were read last are in a document of XML.
func (p *Parser) InXML() bool { return p.documents.open }

// Unread notes that the line of that number is too long to be read.
func (p *Parser) Unread(number int) {
	if d := &p.documents; d.open {
		d.at[number+1], d.latest = xmlState{in: inUnknown}, number
	}
}

// readXML reads the pieces of a line of that number that is in a document. is is false if it is in none.
func (p *Parser) readXML(number int, line []byte) (pieces []piece, is bool) {
	d := &p.documents
	at := d.at[number]
	if at.in == noDocument {
		if !bytes.HasPrefix(scan.TrimLeft(bytes.TrimPrefix(line, []byte("\ufeff"))), xmlDeclaration) {
			if number > d.latest {
				d.open = false
			}
			return nil, false
		}
		at.in = inText
	}
	pieces, at, is = at.read(line, true)
	d.reach(number, at)
	return pieces, is
}

// skipXML passes over n lines that mean nothing, from the one of that number on.
func (p *Parser) skipXML(number, n int, lines []byte) {
	if at := p.documents.at[number]; at.in != noDocument {
		_, at, _ = at.read(lines, false)
		p.documents.reach(number+n-1, at)
	}
}

// reach notes the place after the line of that number.
func (d *documents) reach(number int, at xmlState) {
	if d.at == nil {
		d.at = map[int]xmlState{}
	}
	if len(d.at) > 2*maxPlaces {
		for n := range d.at {
			if n < number-maxPlaces {
				delete(d.at, n)
			}
		}
	}
	if at.in == noDocument {
		delete(d.at, number+1)
	} else {
		d.at[number+1] = at
	}
	if number >= d.latest {
		d.latest, d.open = number, at.in != noDocument
	}
}

// read reads a line from a place, or several ones. It returns the pieces, one at least, and the place after them. A text that no parser of
// XML would take is in no document: a log may hold what only begins like one. is is false then.
func (s xmlState) read(text []byte, pieces bool) (all []piece, after xmlState, is bool) {
	add := func(from, to int, kind XML) {
		if pieces {
			all = appendPieces(all, text, from, to, kind)
		}
	}
	for i := 0; i < len(text) && s.in != noDocument; {
		switch s.in {
		case inText:
			end := indexOr(text, i, []byte("<"))
			if s.depth == 0 && len(bytes.TrimSpace(text[i:end])) > 0 {
				return nil, xmlState{}, false
			}
			add(i, end, XMLText)
			if i = end; i < len(text) {
				i = s.enter(text, i)
			}
		case inCDATA:
			end := indexOr(text, i, cdataEnd)
			add(i, end, CDATA)
			if i = end; i < len(text) {
				s.in, i = inText, i+len(cdataEnd)
			}
		case inValue:
			end := indexOr(text, i, []byte{s.quote})
			if bytes.IndexByte(text[i:end], '<') >= 0 {
				return nil, xmlState{}, false
			}
			add(i, end, XMLValue)
			if i = end; i < len(text) {
				s.in, i = inTag, i+1
			}
		case inUnknown:
			i = len(text)
		case inComment:
			i = s.skip(text, i, commentEnd)
		case inInstruction:
			i = s.skip(text, i, []byte(">"))
		case inTag:
			i = s.tag(text, i)
		}
		if s.in == illFormed {
			return nil, xmlState{}, false
		}
	}
	if len(all) == 0 {
		all = []piece{{xml: XMLText}}
	}
	return all, s, true
}

// indexOr returns where sep begins in line[i:], or the line's length.
func indexOr(line []byte, i int, sep []byte) int {
	if k := bytes.Index(line[i:], sep); k >= 0 {
		return i + k
	}
	return len(line)
}

// skip skips what ends in such bytes.
func (s *xmlState) skip(line []byte, i int, end []byte) int {
	k := indexOr(line, i, end)
	if k == len(line) {
		return k
	}
	s.in = inText
	return k + len(end)
}

// enter enters what begins with the < at line[i].
func (s *xmlState) enter(line []byte, i int) int {
	rest := line[i:]
	switch {
	case bytes.HasPrefix(rest, cdataBegin):
		s.in = inCDATA
		return i + len(cdataBegin)
	case bytes.HasPrefix(rest, commentBegin):
		s.in = inComment
		return i + len(commentBegin)
	case len(rest) > 1 && (rest[1] == '?' || rest[1] == '!'):
		s.in = inInstruction
		return i + 2
	case len(rest) > 1 && rest[1] != '/' && !beginsName(rest[1]):
		s.in = illFormed
		return i
	}
	s.in, s.slash = inTag, false
	s.closing = len(rest) > 1 && rest[1] == '/'
	return i + 1
}

// beginsName reports whether the name of an element may begin with a byte (XML 1.0 §2.3).
func beginsName(c byte) bool { return (c|0x20)-'a' < 26 || c == '_' || c == ':' || c >= utf8.RuneSelf }

// tag reads on in a tag, up to a value or to its end.
func (s *xmlState) tag(line []byte, i int) int {
	for ; i < len(line); i++ {
		switch c := line[i]; c {
		case '"', '\'':
			s.in, s.quote, s.slash = inValue, c, false
			return i + 1
		case '>':
			s.in = inText
			switch {
			case s.closing:
				s.depth--
			case !s.slash:
				s.depth, s.rooted = s.depth+1, true
			default:
				s.rooted = true
			}
			if s.rooted && s.depth <= 0 {
				*s = xmlState{}
			}
			return i + 1
		case '<':
			s.in = illFormed
			return i
		default:
			s.slash = c == '/'
		}
	}
	return i
}

// appendPieces appends the lines of a text, which may be separated by references to a line feed.
func appendPieces(pieces []piece, line []byte, from, to int, kind XML) []piece {
	start := from
	if kind != CDATA {
		for i := from; i < to; {
			k := bytes.IndexByte(line[i:to], '&')
			if k < 0 {
				break
			}
			i += k
			n, c := scan.Reference(line[i:to])
			if c == '\n' {
				pieces = appendPiece(pieces, line, start, i, kind)
				start = i + n
			}
			i += n
		}
	}
	return appendPiece(pieces, line, start, to, kind)
}

// appendPiece appends a piece that is not blank.
func appendPiece(pieces []piece, line []byte, from, to int, kind XML) []piece {
	if len(bytes.TrimSpace(line[from:to])) == 0 {
		return pieces
	}
	return append(pieces, piece{Span: frame.Span{Start: from, End: to}, xml: kind})
}

// Quoted reports whether what is added to the text must be escaped.
func (s *Segment) Quoted() bool { return s.JSON || s.XML != OutsideXML }

// AppendXML appends a text as it stands in such a place of a document. Characters that a document cannot have become U+FFFD.
func AppendXML(dst, text []byte, at XML) []byte {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && n == 1, c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0xfffe, c == 0xffff:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case at == CDATA && c == '>' && bytes.HasSuffix(dst, cdataEnd[:2]):
			dst = append(dst, "]]><![CDATA[>"...) // the section ends, and another one begins
		case at == CDATA:
			dst = append(dst, text[:n]...)
		case c == '<':
			dst = append(dst, "&lt;"...)
		case c == '>':
			dst = append(dst, "&gt;"...)
		case c == '&':
			dst = append(dst, "&amp;"...)
		case c == '"':
			dst = append(dst, "&quot;"...)
		case c == '\'' && at == XMLValue:
			dst = append(dst, "&apos;"...)
		case c == '\n' && at == XMLValue:
			dst = append(dst, "&#10;"...)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}
