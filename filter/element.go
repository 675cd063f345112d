package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"qss-filter/filter/parse"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// markup handles a line that holds `{{{` or `<<<`.
func (f *Filter) markup(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	if len(end) > 0 && f.opt.Style != Append {
		if out, ok := f.context(dst, p, body, end); ok {
			return out
		}
	}
	return f.text(ctx, f.fold.flush(dst), p, body, end)
}

// parse reads the elements of a text, and says which are malformed.
func (f *Filter) parse(text []byte) []parse.Element {
	f.parser.ReadElements(text, f.faults.left(f.line, f.recorder != nil))
	for i := range f.parser.Elements {
		if err := f.parser.Elements[i].Err; err != nil {
			f.malformed(text, err)
		}
	}
	return f.parser.Elements
}

// malformed tells of a bad element: line, column, and a caret under it. Once per cause, since a log repeats itself.
func (f *Filter) malformed(text []byte, err error) {
	if errors.Is(err, markup.ErrMalformed) || f.faults.left(f.line, f.recorder != nil) <= 0 {
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

// left returns how many more malformed elements of a line are explained. In records each line has its own.
func (c *faults) left(line int, recorded bool) int {
	n := maxFaultsOfLine
	if c.line == line {
		n -= c.ofLine
	}
	if !recorded {
		n = min(n, maxFaults-c.all)
	}
	return n
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
func (f *Filter) elements(ctx context.Context, dst []byte, p *resolve.Thread, s parse.Segment) (out []byte, ok bool) {
	elems := f.parse(s.Text)
	if len(elems) == 0 {
		return dst, false
	}
	restore := f.colour
	defer func() { f.colour = restore }()
	if i := parse.FrameElement(s, elems); i >= 0 {
		return f.frameLine(ctx, dst, p, s, elems, i), true
	}
	dst = f.inPlace(ctx, dst, p, s, elems, 0, len(s.Text))
	if f.opt.Style == Append {
		for i := range elems {
			if e := &elems[i]; !e.Keep && !e.Contextual() {
				dst = f.elementBelow(ctx, dst, p, s, e)
			}
		}
	}
	return dst, true
}

// inPlace writes text[from:to] with every element in its place replaced.
func (f *Filter) inPlace(ctx context.Context, dst []byte, p *resolve.Thread, s parse.Segment, elems []parse.Element, from, to int) []byte {
	pos := from
	for i := range elems {
		e := &elems[i]
		if e.Start < from || e.End > to {
			continue
		}
		dst = append(dst, s.Text[pos:e.Start]...)
		f.followColour(s.Text[pos:e.Start])
		pos = e.End
		raw := s.Text[e.Start:e.End]
		if e.Tag == markup.Dumpfile && !e.Keep {
			f.announce(p.Process, &e.Element)
			f.recorder.dumpfile(p.Process, &e.Element)
		}
		if e.Keep || f.opt.Style == Append || e.Contextual() && f.opt.Context == ContextKeep {
			f.effect(p, s.Text, e)
			if e.Tag == markup.Hexdict {
				dst = f.dumpElement(ctx, dst, p, raw)
			} else {
				dst = append(dst, raw...)
			}
			continue
		}
		if !s.JSON {
			dst = f.replaced(ctx, dst, p, s.Text, e)
			continue
		}
		text := f.replaced(ctx, nil, p, s.Text, e)
		if rest, same := bytes.CutPrefix(text, f.parser.Outside(raw)); same { // it stays as it is written
			dst, text = append(dst, raw...), rest
		}
		dst = appendJSON(dst, text)
	}
	return append(dst, s.Text[pos:to]...)
}

// elementBelow adds what an element stands for below the text that it stays in.
func (f *Filter) elementBelow(ctx context.Context, dst []byte, p *resolve.Thread, s parse.Segment, e *parse.Element) []byte {
	if e.Tag == markup.Dumpfile {
		return dst
	}
	raw := f.parser.Outside(s.Text[e.Start:e.End])
	text := f.replaced(ctx, nil, p, s.Text, e)
	if bytes.HasPrefix(text, raw) || len(text) == 0 {
		return dst
	}
	return f.below(dst, s, func(b []byte) []byte { return append(b, text...) })
}

// replaced writes the readable form of one element, or the element itself where nothing is known.
func (f *Filter) replaced(ctx context.Context, dst []byte, p *resolve.Thread, text []byte, e *parse.Element) []byte {
	raw := f.parser.Outside(text[e.Start:e.End])
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
		f.recorder.note(p.Process, record.Context{Type: record.Symbol, Name: name, Word: mangled})
		if name == "" {
			return dst
		}
		return f.appendName(dst, f.opt.Names.function(name, ""), false)
	case markup.Reset, markup.Module, markup.MMap:
		return f.contextInPlace(dst, p, text, e)
	case markup.Dumpfile:
		return f.dumpfile(dst, &e.Element)
	case markup.Data:
		a := f.resolver.ResolveAddress(ctx, p.Process, e.Addr, symsrc.Data, resolve.Exact.Because(resolve.ByTag))
		a.Count()
		f.observeElement(p, text, e, a, true)
		if len(a.Frames) == 0 {
			return f.unresolved(dst, raw, text[e.End:], e.Addr, a)
		}
		return f.appendVariable(dst, a, 0)
	case markup.PC:
		a := f.resolver.ResolveAddress(ctx, p.Process, e.Addr, symsrc.Code, f.resolver.AdjustMarkup(p, e.Type, true))
		a.Count()
		f.observeElement(p, text, e, a, true)
		if len(a.Frames) == 0 {
			return f.unresolved(dst, raw, text[e.End:], e.Addr-a.Back, a)
		}
		dst = f.appendFunc(dst, a, 0)
		dst = append(dst, '[')
		dst = f.appendFile(dst, a, 0, false)
		return append(dst, ']')
	}
	a := f.resolver.ResolveAddress(ctx, p.Process, e.Addr, symsrc.Code, f.resolver.AdjustMarkup(p, e.Type, false))
	a.Count()
	p.Over(f.line, a)
	f.observeElement(p, text, e, a, true)
	if len(a.Frames) == 0 {
		return f.unresolved(dst, raw, text[e.End:], e.Addr-a.Back, a)
	}
	return f.appendMessage(f.appendReason(f.appendSentence(dst, a), a, text, e.End), e)
}
