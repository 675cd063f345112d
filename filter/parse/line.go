package parse

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/prefix"
	"qss-filter/filter/scan"
	"qss-filter/markup"
)

// Line is a line of a log, which is read segment by segment: the line itself, or the strings of a JSON object, as container runtimes
// and journald's JSON output write them.
type Line struct {
	// Segment is the segment at hand.
	Segment
	// Body is the line without its end.
	Body []byte
	// Before is what stands between the segment and the one before it. After is what stands between the last segment and the end
	// of the line, with this end. It is empty for other segments.
	Before, After []byte
	// Bare is set for a line that is a bt element and nothing else, which markup is full of. The element is in Elements then.
	Bare bool
	// Object is a line's JSON object, whose fields are those of Owner. It is empty if the line is none.
	Object []byte
	// Inside is set if the segment is a part of the object.
	Inside bool
	// Owner has the fields of the JSON object that say whose words its strings are.
	Owner  prefix.Prefix
	line   []byte
	pieces []piece // those that follow, in Object
	begin  int     // of Object
	pos    int     // up to which the line was read
	joint  *Joint  // nil unless the line is one part of several
	words  match.Words
	looked bool // at Text, for words
	said   said
	last   bool
}

// Line begins to read a line. Prefix has its loggers' prefixes then, which a bare line has none of. The result is valid until the
// next call.
func (p *Parser) Line(line []byte) *Line {
	l := &p.line
	p.whole = p.whole[:0]
	body, end := scan.CutEnd(line)
	l.line, l.Body, l.Before, l.After, l.Object, l.pieces, l.pos, l.last = line, body, nil, end, nil, nil, 0, false
	l.Segment, l.joint, l.Inside, l.looked = Segment{Text: body, Sep: end}, nil, false, false
	if len(end) == 0 {
		l.Sep = lineBreak
	}
	if l.Bare = !p.Long && p.readBare(body); l.Bare {
		p.Prefix = prefix.Prefix{End: len(body)}
	} else {
		at := p.ReadPrefix(body)
		words := body[at.Start:at.End]
		if l.pieces = p.object.read(words); l.pieces != nil {
			l.Object, l.begin, l.Sep, l.After = words, at.Start, escapedBreak, nil
			l.Owner = prefix.JSONKey(words)
		}
	}
	l.Start, l.End = p.Prefix.Start, p.Prefix.End
	return l
}

// LineAt is Line for a line of that number, which may be in a document of XML.
func (p *Parser) LineAt(line []byte, number int) *Line {
	l := p.Line(line)
	if pieces, is := p.readXML(number, l.Body); is {
		l.Bare, l.Object, l.begin, l.Sep, l.After, l.Owner = false, nil, 0, lineBreak, nil, prefix.Prefix{}
		l.pieces, p.Prefix = pieces, prefix.Prefix{End: len(l.Body)}
		l.Start, l.End = 0, len(l.Body)
	}
	return l
}

// InPieces reports whether a line is one of JSON, or of a document of XML.
func (l *Line) InPieces() bool { return len(l.pieces) > 0 }

// Narrow leaves out the strings of a line, or the texts of a document, without what is searched for: they mean nothing, as a line without it
// does. One piece stays, with which the object counts: the line is in pieces.
func (p *Parser) Narrow(l *Line, search *match.Scan) {
	o := &p.object
	kept, is := o.narrow[:0], len(o.text) > 0 && &o.all[0] == &l.pieces[0]
	if is && o.search == search {
		l.pieces = o.narrow
		return
	}
	for rest := l.pieces; len(rest) > 0; {
		n := stringOf(l.Body[l.begin:], rest)
		if rest[0].object || p.means(l.Body[l.begin+rest[0].Start:l.begin+rest[n-1].End], rest[0].xml, search) {
			kept = append(kept, rest[:n]...)
		}
		rest = rest[n:]
	}
	if len(kept) == 0 {
		kept = append(kept, l.pieces[0])
	}
	l.pieces, o.narrow, o.search = kept, kept, nil
	if is {
		o.search = search
	}
}

// stringOf returns how many of the pieces of a text are of the string that the first one is of.
func stringOf(text []byte, pieces []piece) int {
	n := 1
	for n < len(pieces) && pieces[n-1].xml == OutsideXML && !pieces[n].object && bytes.Equal(text[pieces[n-1].End:pieces[n].Start], escapedBreak) {
		n++
	}
	return n
}

// means reports whether a string, or a text of a document, has something of what is searched for, with its escapes or without. Frames that
// have a number go on with a stack in any state.
func (p *Parser) means(text []byte, xml XML, search *match.Scan) bool {
	if search.Next(text, 0) >= 0 || bytes.IndexByte(text, '#') >= 0 || frame.MayOpenHostFrame(text) {
		return true
	}
	plain, moved := p.plain(Segment{Text: text, JSON: xml == OutsideXML, XML: xml})
	return moved && (search.Next(plain, 0) >= 0 || frame.MayOpenHostFrame(plain))
}

// said is a text that was looked at, and its words. Those who look ahead of a line, and then the line itself, ask for the same.
type said struct {
	text  []byte
	words match.Words
}

// maxSaid bounds, in bytes, a text that is kept from line to line.
const maxSaid = 1 << 10

// look is match.Look.
func (k *said) look(text []byte) match.Words {
	if len(k.text) > 0 && bytes.Equal(text, k.text) {
		return k.words
	}
	words := match.Look(text)
	if len(text) <= maxSaid {
		k.text, k.words = append(k.text[:0], text...), words
	}
	return words
}

// Words returns which readers the segment at hand may mean something to.
func (l *Line) Words() match.Words {
	if !l.looked {
		l.words, l.looked = l.said.look(l.Text), true
	}
	return l.words
}

// HasMarkup reports whether the segment at hand may hold a markup element.
func (l *Line) HasMarkup() bool {
	if !l.looked { // a frame as text needs no other word
		return HasMarkup(l.Text)
	}
	return l.words.Any(MarkupWords)
}

// readBare reads the bt element that a line is, if it is well-formed.
func (p *Parser) readBare(body []byte) bool {
	start := 0
	for start < len(body) && (body[start] == ' ' || body[start] == '\t') {
		start++
	}
	if !bytes.HasPrefix(body[start:], OpenBraces) {
		return false
	}
	e, ok := markup.Next(body, start)
	if !ok || e.Tag != markup.BT || e.Start != start || e.End != len(body) {
		return false
	}
	p.Elements = append(p.Elements[:0], Element{Element: e})
	p.readFields(&p.Elements[0], true)
	return !p.Elements[0].Keep
}

// Next moves on to the next segment of a line, and reads the prefixes of a string. It returns false after the last one.
func (p *Parser) Next(l *Line) bool {
	p.Quoted = !l.last && l.pieces != nil
	if l.last {
		return false
	}
	if l.last = len(l.pieces) <= 1; l.pieces == nil {
		return true
	}
	start, end := l.begin+l.pieces[0].Start, l.begin+l.pieces[0].End
	object := l.pieces[0].object
	l.XML = l.pieces[0].xml
	from, open := l.pos, p.open(l, start)
	l.Before, l.Text, l.JSON = l.Body[from:start], l.Body[start:end], !object && l.XML == OutsideXML
	if l.XML == XMLValue {
		l.Sep = referencedBreak
	} else if l.XML != OutsideXML {
		l.Sep = lineBreak
	}
	p.Quoted, l.Inside, l.looked = l.JSON, true, false
	l.pieces, l.pos = l.pieces[1:], end
	if l.last {
		l.After = l.line[end:]
	}
	l.Left, l.Settled, l.More = 0, 0, false
	j := l.joint
	first := j != nil && len(j.Before) > 0 && start <= j.From && j.From <= end
	if first {
		p.goOn(l, j.Before, from, j.From)
	} else if p.ReadPrefix(l.Text); open != nil {
		if at, ok := frame.ClosesHostFrame(l.Text[p.Prefix.Start:]); ok {
			l.Left = p.goOn(l, open, from, start+p.Prefix.Start+at)
		}
	}
	if j != nil {
		l.settle(first, end == j.To)
	}
	l.Start, l.End = p.Prefix.Start, p.Prefix.End
	return true
}

// goOn lets a piece, from an offset in the line on, go on with what has left, whose length it returns. from is where the piece before it ends.
func (p *Parser) goOn(l *Line, left []byte, from, at int) int {
	l.Before, l.Text, l.looked = l.Body[from:at], p.joined(left, l.Body[at:l.pos]), false
	p.ReadPrefix(l.Text)
	return len(left)
}

// open returns the frame that the segment at hand opens, if the piece that begins at an offset in the line is the next line of its string.
func (p *Parser) open(l *Line, start int) []byte {
	if !l.JSON || !bytes.Equal(l.Body[l.pos:start], escapedBreak) || !frame.MayOpenHostFrame(l.Text) {
		return nil
	}
	if at, ok := frame.OpensHostFrame(l.Text); ok {
		return bytes.Clone(at.Of(l.Text))
	}
	return nil
}
