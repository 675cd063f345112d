package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"qss-filter/filter/prefix"
	"qss-filter/filter/record"
	"qss-filter/markup"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// element is a markup element of the line at hand with its parsed fields; of those only the tag's own are set.
type element struct {
	markup.Element
	bt   markup.BTFields
	addr uint64
	typ  markup.PCType
	// keep is set where the element stays as it is: malformed, or of a tag that is not interpreted.
	keep bool
}

// markup handles a line that holds `{{{` or `<<<`.
func (f *Filter) markup(ctx context.Context, dst []byte, p *thread, body, end []byte) []byte {
	if len(end) > 0 && f.opt.Style != Append {
		if out, ok := f.context(dst, p, body, end); ok {
			return out
		}
	}
	return f.text(ctx, f.fold.flush(dst), p, body, end)
}

// parse fills f.elems with the elements of a text, the last of which may be a dump that goes on.
func (f *Filter) parse(text []byte) {
	f.elems = f.elems[:0]
	for from := 0; ; {
		e, ok := markup.Next(text, from)
		if !ok {
			if at := openDump(text, from); at >= 0 {
				f.elems = append(f.elems, element{Element: markup.Element{Start: at, End: len(text), Tag: markup.Hexdict}, keep: true})
			}
			return
		}
		from = e.End
		f.elems = append(f.elems, f.readFields(text, e))
	}
}

// readFields reads the fields of a presentation element; those of a context element are read when it takes effect.
func (f *Filter) readFields(text []byte, e markup.Element) element {
	e.Body, e.Terse = f.outside(e.Body), !f.faults.explains(f.line, f.recorder != nil)
	el := element{Element: e}
	var err error
	switch e.Tag {
	case markup.BT:
		el.bt, err = e.BT()
		el.addr, el.typ = el.bt.Addr, el.bt.Type
	case markup.PC:
		var pc markup.PCFields
		pc, err = e.PC()
		el.addr, el.typ = pc.Addr, pc.Type
	case markup.Data:
		el.addr, err = e.Data()
	case markup.Symbol:
		_, err = e.Symbol()
	case markup.Reset, markup.Module, markup.MMap:
	case markup.Dumpfile:
		_, _, err = e.Dumpfile()
	default:
		el.keep = true
	}
	if err != nil {
		el.keep = true
		f.malformed(text, err)
	}
	return el
}

// malformed tells of a bad element: line, column, and a caret under it. Once per cause, since a log repeats itself.
func (f *Filter) malformed(text []byte, err error) {
	if errors.Is(err, markup.ErrMalformed) || !f.faults.explains(f.line, f.recorder != nil) {
		return
	}
	f.faults.explained(f.line)
	f.recorder.malformed(err)
	cause := err.Error()
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		cause = fe.Msg
	}
	f.warn(cause, markup.Explain(f.line, text, err))
}

// faults counts the malformed elements that were explained, in all and of one line: an explanation costs a thousand times what
// the element does. It counts the bytes of long mangled names of a line, too, whose time grows with the square of their length.
type faults struct{ all, line, ofLine, mangledLine, mangled int }

const (
	maxFaults       = 10_000 // of a stream, where they are said once per cause
	maxFaultsOfLine = 16
	longMangled     = 512
	maxMangled      = 32 << 10 // of the long names of a line
)

// demangles reports whether one more mangled name of a line, of n bytes, is made readable, and counts it.
func (c *faults) demangles(line, n int) bool {
	if n <= longMangled {
		return true
	}
	if c.mangledLine != line {
		c.mangledLine, c.mangled = line, 0
	}
	c.mangled += n
	return c.mangled <= maxMangled
}

// explains reports whether one more malformed element of a line is explained. In records each line has its own.
func (c *faults) explains(line int, recorded bool) bool {
	return (recorded || c.all < maxFaults) && (c.line != line || c.ofLine < maxFaultsOfLine)
}

// explained counts an explanation.
func (c *faults) explained(line int) {
	if c.line != line {
		c.line, c.ofLine = line, 0
	}
	c.all++
	c.ofLine++
}

// elements writes a text with its elements in readable form. ok is false where it holds no element.
func (f *Filter) elements(ctx context.Context, dst []byte, p *thread, s segment) (out []byte, ok bool) {
	f.parse(s.text)
	if len(f.elems) == 0 {
		return dst, false
	}
	elems := f.elems
	restore := f.colour
	defer func() { f.colour = restore }()
	if i := frameElement(s, elems); i >= 0 {
		return f.frameLine(ctx, dst, p, s, elems, i), true
	}
	dst = f.inPlace(ctx, dst, p, s, elems, 0, len(s.text))
	if f.opt.Style == Append {
		for i := range elems {
			if e := &elems[i]; !e.keep && !e.Contextual() {
				dst = f.elementBelow(ctx, dst, p, s, e)
			}
		}
	}
	return dst, true
}

// frameElement returns the bt element that makes the text a frame line: the only one, with nothing before it but a
// logger's prefix. −1 where there is none.
func frameElement(s segment, elems []element) int {
	found := -1
	for i := range elems {
		if elems[i].Tag != markup.BT || elems[i].keep {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if found >= 0 {
		at := elems[found].Start
		if s.start > 0 && s.start <= at {
			if begin, ok := prefix.Split(s.text[s.start:], at-s.start); ok && begin == 0 {
				return found // nothing but blanks behind the prefix
			}
		}
		if _, ok := prefix.Split(s.text, at); !ok {
			return -1
		}
	}
	return found
}

// inPlace writes text[from:to] with every element in its place replaced.
func (f *Filter) inPlace(ctx context.Context, dst []byte, p *thread, s segment, elems []element, from, to int) []byte {
	pos := from
	for i := range elems {
		e := &elems[i]
		if e.Start < from || e.End > to {
			continue
		}
		dst = append(dst, s.text[pos:e.Start]...)
		f.followColour(s.text[pos:e.Start])
		pos = e.End
		raw := s.text[e.Start:e.End]
		if e.Tag == markup.Dumpfile && !e.keep {
			f.announce(p.process, &e.Element)
			f.recorder.dumpfile(p.process, &e.Element)
		}
		if e.keep || f.opt.Style == Append || e.Contextual() && f.opt.Context == ContextKeep {
			f.effect(p, s.text, e)
			if e.Tag == markup.Hexdict {
				dst = f.dumpElement(ctx, dst, p, raw)
			} else {
				dst = append(dst, raw...)
			}
			continue
		}
		if !s.json {
			dst = f.replaced(ctx, dst, p, s.text, e)
			continue
		}
		text := f.replaced(ctx, nil, p, s.text, e)
		if rest, same := bytes.CutPrefix(text, f.outside(raw)); same { // it stays as it is written
			dst, text = append(dst, raw...), rest
		}
		dst = appendJSON(dst, text)
	}
	return append(dst, s.text[pos:to]...)
}

// elementBelow adds what an element stands for below the text that it stays in.
func (f *Filter) elementBelow(ctx context.Context, dst []byte, p *thread, s segment, e *element) []byte {
	if e.Tag == markup.Dumpfile {
		return dst
	}
	raw := f.outside(s.text[e.Start:e.End])
	text := f.replaced(ctx, nil, p, s.text, e)
	if bytes.HasPrefix(text, raw) || len(text) == 0 {
		return dst
	}
	return f.below(dst, s, func(b []byte) []byte { return append(b, text...) })
}

// replaced writes the readable form of one element, or the element itself where nothing is known.
func (f *Filter) replaced(ctx context.Context, dst []byte, p *thread, text []byte, e *element) []byte {
	raw := f.outside(text[e.Start:e.End])
	switch e.Tag {
	case markup.Symbol:
		body, _ := e.Symbol()
		mangled := string(body)
		name := mangled
		if f.faults.demangles(f.line, len(mangled)) {
			name = demangle.Symbol(mangled)
		} else {
			f.warn("mangled", fmt.Sprintf("line %d: too many long names in one line: the rest of such a line's stay mangled", f.line))
		}
		f.recorder.note(p.process, record.Context{Type: record.Symbol, Name: name, Word: mangled})
		if name == "" {
			return dst
		}
		return f.appendFunc(dst, &answer{frames: []symsrc.Frame{{Func: f.opt.Names.function(name, "")}}}, 0)
	case markup.Reset, markup.Module, markup.MMap:
		return f.contextInPlace(dst, p, text, e)
	case markup.Dumpfile:
		return f.dumpfile(dst, &e.Element)
	case markup.Data:
		a := f.askAbsolute(ctx, p.process, e.addr, symsrc.Data, exactly.because(byTag))
		a.count()
		f.observeElement(p, text, e, a, true)
		if len(a.frames) == 0 {
			return f.unresolved(dst, raw, text[e.End:], e.addr, a)
		}
		return f.appendVariable(dst, a, 0)
	case markup.PC:
		a := f.askAbsolute(ctx, p.process, e.addr, symsrc.Code, f.takeMarkup(p, e.typ, true))
		a.count()
		f.observeElement(p, text, e, a, true)
		if len(a.frames) == 0 {
			return f.unresolved(dst, raw, text[e.End:], e.addr-a.back, a)
		}
		dst = f.appendFunc(dst, a, 0)
		dst = append(dst, '[')
		dst = f.appendFile(dst, a, 0, false)
		return append(dst, ']')
	}
	a := f.askAbsolute(ctx, p.process, e.addr, symsrc.Code, f.takeMarkup(p, e.typ, false))
	a.count()
	p.over(f.line, a)
	f.observeElement(p, text, e, a, true)
	if len(a.frames) == 0 {
		return f.unresolved(dst, raw, text[e.End:], e.addr-a.back, a)
	}
	return f.appendMessage(f.appendReason(f.appendSentence(dst, a), a, text, e.End), e)
}
