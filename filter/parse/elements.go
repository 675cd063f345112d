package parse

import (
	"bytes"

	"qss-filter/filter/prefix"
	"qss-filter/markup"
)

// Element is a markup element of the line at hand with its parsed fields. Only the fields of its tag are set.
type Element struct {
	markup.Element
	BTFields markup.BTFields
	Addr     uint64
	Type     markup.PCType
	// Keep is set if the element stays as it is: it is malformed, or its tag is not interpreted.
	Keep bool
	// Err is the error of a malformed element.
	Err error
	// Pairs is where the pairs of a dump begin in the text. Open is set if the dump goes on in the next line.
	Pairs int
	Open  bool
}

// ReadElements fills p.Elements with the elements of a text after a place. The last one may be a dump that goes on. Only the first malformed
// elements, as many as explain, get a full error: that costs a thousand times what the element does.
func (p *Parser) ReadElements(text []byte, from, explain int) {
	p.Elements = p.Elements[:0]
	for {
		e, ok := markup.Next(text, from)
		if !ok {
			if at := OpenDump(text, from); at >= 0 {
				p.Elements = append(p.Elements, Element{Element: markup.Element{Start: at, End: len(text), Tag: markup.Hexdict}, Keep: true,
					Pairs: at + dumpTag, Open: true})
			}
			return
		}
		from = e.End
		p.Elements = append(p.Elements, Element{Element: e})
		if el := &p.Elements[len(p.Elements)-1]; !p.readFields(el, explain <= 0) {
			explain--
		}
	}
}

// readFields reads the fields of a presentation element, with a bare error if terse is set. The fields of a context element are read
// when it takes effect. ok is false for a malformed element.
func (p *Parser) readFields(el *Element, terse bool) (ok bool) {
	e := &el.Element
	e.Body, e.Terse = Outside(e.Body, p.Quoted), terse
	var err error
	switch e.Tag {
	case markup.BT:
		el.BTFields, err = e.BT()
		el.Addr, el.Type = el.BTFields.Addr, el.BTFields.Type
	case markup.PC:
		var pc markup.PCFields
		pc, err = e.PC()
		el.Addr, el.Type = pc.Addr, pc.Type
	case markup.Data:
		el.Addr, err = e.Data()
	case markup.Symbol:
		_, err = e.Symbol()
	case markup.Reset, markup.Module, markup.MMap:
	case markup.Dumpfile:
		_, _, err = e.Dumpfile()
	case markup.Hexdict:
		el.Keep, el.Pairs = true, e.Start+dumpTag
	default:
		el.Keep = true
	}
	if err != nil {
		el.Keep, el.Err = true, err
	}
	return err == nil
}

// FrameElement returns the index of the bt element that makes the text a frame line: the only one, with nothing before it but a
// logger's prefix. It is −1 if there is none.
func FrameElement(s Segment, elems []Element) int {
	found := -1
	for i := range elems {
		if elems[i].Tag != markup.BT || elems[i].Keep {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if found >= 0 {
		at := elems[found].Start
		if s.Start > 0 && s.Start <= at {
			if begin, ok := prefix.Split(s.Text[s.Start:], at-s.Start); ok && begin == 0 {
				return found // nothing but spaces after the prefix
			}
		}
		if _, ok := prefix.Split(s.Text, at); !ok {
			return -1
		}
	}
	return found
}

// ContextLine returns the end of the program's own words on a line whose words are nothing but context elements, those in p.Elements.
// ok is false for any other line. A prefix that colors what follows counts as one of the words, and so does that of a line that goes
// on in the next entry.
func (p *Parser) ContextLine(text []byte) (end int, ok bool) {
	pos, end := p.Prefix.Start, p.Prefix.End
	if p.Prefix.Partial || bytes.IndexByte(text, 0x1b) >= 0 {
		pos, end = 0, len(text)
	}
	for i := range p.Elements {
		e := &p.Elements[i]
		if !e.Contextual() || e.Start < pos || len(bytes.TrimSpace(text[pos:e.Start])) > 0 {
			return 0, false
		}
		pos = e.End
	}
	return end, len(p.Elements) > 0 && pos <= end && len(bytes.TrimSpace(text[pos:end])) == 0
}
