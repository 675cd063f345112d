package parse

import (
	"bytes"
	"slices"

	"qss-filter/filter/frame"
	"qss-filter/filter/prefix"
	"qss-filter/filter/scan"
)

// Joint says how a line is joined to others: a logger has split the text of a program's line, and this line has one part of it.
type Joint struct {
	// Before is the end of the earlier parts, which have left. Whole is set if it begins where the program's line does. Up to
	// Before[:Settled] all is done.
	Before  []byte
	Whole   bool
	Settled int
	// From and To bound the part in the line without its end. More is set if another part follows.
	From, To int
	More     bool
	// Wait is where frames begin, in Before and the last text of the part, that the next part may go on with. They wait for it.
	Wait int
	// Object is the beginning of the JSON object that the parts make up, nil for none. Quoted is set if the part begins inside a string
	// of it, and Escaped if its first byte is escaped there.
	Object          []byte
	Quoted, Escaped bool
}

// Join lets a line be one part of several. It is called before the first Next.
func (p *Parser) Join(l *Line, j *Joint) {
	l.joint = j
	switch {
	case j.Object != nil:
		spans, _, _ := PartStrings(l.Body[j.From:j.To], j.Quoted, j.Escaped)
		if l.pieces = nil; spans == nil {
			return
		}
		for _, span := range spans {
			l.pieces = append(l.pieces, piece{Span: span})
		}
		l.Object, l.Owner = j.Object, prefix.JSONKey(j.Object)
		l.begin, l.Sep, l.After = j.From, escapedBreak, nil
	case l.pieces != nil:
	case len(j.Before) > 0:
		l.Owner, l.Object = p.Prefix, l.Body
		l.Owner.Claimed = prefix.Span{}
		l.Before, l.Text, l.After, l.looked = l.Body[:j.From], p.joined(j.Before, l.Body[j.From:j.To]), l.line[j.To:], false
		p.ReadPrefix(l.Text)
		l.Start, l.End = p.Prefix.Start, p.Prefix.End
		l.settle(true, true)
	default:
		l.settle(false, true)
	}
}

// joined returns a text after what has left before it. It is valid until the next line.
func (p *Parser) joined(left, text []byte) []byte {
	start := len(p.whole)
	p.whole = append(append(p.whole, left...), text...)
	return p.whole[start:]
}

// settle sets what of a segment is done, and what waits. first and last are set if it goes on from the part before, and in the next one.
func (l *Line) settle(first, last bool) {
	j := l.joint
	if first {
		l.Left, l.Settled = len(j.Before), j.Settled
	}
	if last {
		l.More, l.Wait = j.More, j.Wait
	}
}

// Split reports whether the line is one part of several.
func (l *Line) Split() bool { return l.joint != nil }

// Offset returns where the segment at hand begins in the line, if nothing of it has left.
func (l *Line) Offset() int {
	if !l.Inside {
		return 0
	}
	return l.pos - len(l.Text)
}

// Begins reports whether the segment begins where a line of the program does, and ends where it does.
func (l *Line) Begins() bool {
	return l.joint == nil || (l.Left == 0 || l.joint.Whole) && !l.More
}

// PartStrings is jsonPieces for a part of an object, which may begin inside a string. It returns whether it ends inside one, and after a
// backslash.
func PartStrings(text []byte, quoted, escaped bool) (spans []frame.Span, open, cut bool) {
	start := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case escaped:
			if escaped = false; c == 'n' && i > 0 {
				spans = append(spans, frame.Span{Start: start, End: i - 1})
				start = i + 1
			}
		case c == '"' && quoted:
			spans = append(spans, frame.Span{Start: start, End: i})
			quoted = false
		case c == '"':
			quoted, start = true, i+1
		case c == '\\' && quoted:
			escaped = true
		}
	}
	if quoted {
		spans = append(spans, frame.Span{Start: start, End: len(text)})
	}
	return spans, quoted, escaped
}

// goesOn reports whether a text that follows a frame may be the beginning of what belongs to it: a build ID in parentheses, a function, or
// nothing so far. After an address a module may come, and after a field others.
func (fr *Frame) goesOn(rest []byte) bool {
	if len(rest) == 0 && !fr.BuildID.Empty() && fr.BuildID.End == fr.Whole.End { // what closes the build ID is missing, and maybe more of it
		return true
	}
	if fr.BuildID.Start > max(fr.Addr.End, fr.Off.End) {
		return false
	}
	if (fr.Base == frame.Absolute || fr.Shape == frame.Fields) && len(rest) < maxModule {
		return true
	}
	for {
		rest = scan.TrimLeft(rest)
		switch {
		case len(rest) == 0, len(rest) == 1 && (rest[0] == 'i' || rest[0] == ':'):
			return true
		case rest[0] != '(' && rest[0] != '[':
			return false
		}
		end := bytes.IndexByte(rest, closing(rest[0]))
		if end < 0 {
			return true
		}
		rest = rest[end+1:]
	}
}

// maxModule is how many bytes after an address its module may come, in formats that write them apart.
const maxModule = 512

// closing returns what closes an opening parenthesis or bracket.
func closing(c byte) byte {
	if c == '[' {
		return ']'
	}
	return ')'
}

// Outcome of Settle.
type Settlement struct {
	// Done is up to where all is done, Wait where frames begin that may go on. Joined is set if a frame or an element begins before the joint
	// and ends after it, and ended are all that end after it.
	Done, Wait int
	Joined     bool
	ended      []ending
}

// ending is what a frame or an element after the joint is: how far from the end of the text it stands, and what it says.
type ending struct {
	start, end int
	offset     uint64
	base       frame.Base
}

// Same reports whether two readings of a part have the same frames and elements in it.
func (r *Settlement) Same(as *Settlement) bool { return slices.Equal(r.ended, as.ended) }

// Settle reads a text of which all up to settled is done, and which the next part may go on with. left is how much of it has left. certain
// is set if there is a next part.
func (p *Parser) Settle(s Segment, certain bool) (r Settlement) {
	r.Done, r.Wait = s.Settled, len(s.Text)+1
	note := func(start, end int, fr *frame.Frame) {
		if end <= s.Left {
			return
		}
		r.Joined = r.Joined || start < s.Left
		r.ended = append(r.ended, ending{len(s.Text) - start, len(s.Text) - end, fr.Offset, fr.Base})
	}
	if HasMarkup(s.Text[s.Settled:]) {
		p.ReadElements(s.Text, s.Settled, 0)
		for i := range p.Elements {
			if e := &p.Elements[i]; !e.Open {
				note(e.Start, e.End, &frame.Frame{})
				r.Done = e.End
			}
		}
		if len(p.Elements) > 0 {
			return r
		}
	}
	p.ReadFrames(s, true, true)
	for i := range p.Frames {
		fr := &p.Frames[i]
		note(fr.Whole.Start, fr.Whole.End, &fr.Frame)
		if certain && i == len(p.Frames)-1 && fr.goesOn(s.Text[fr.Whole.End:]) {
			r.Wait = fr.Whole.Start
			break
		}
		r.Done = fr.Whole.End
	}
	return r
}
