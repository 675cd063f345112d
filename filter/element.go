package filter

import (
	"bytes"
	"context"
	"errors"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
)

// markup handles a line that holds `{{{` or `<<<`.
func (f *Filter) markup(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	if len(end) > 0 && f.opt.Style != Append {
		if out, ok := f.context(dst, p, body, end); ok {
			return out
		}
	}
	return f.ordinary(ctx, f.out.Flush(dst), p, body, end)
}

// parse reads the elements of a text, and says which are malformed.
func (f *Filter) parse(text []byte) []parse.Element {
	f.parser.ReadElements(text, f.faults.left(f.line, f.objects != nil))
	for i := range f.parser.Elements {
		if err := f.parser.Elements[i].Err; err != nil && f.malformed(text, err) {
			f.out.Malformed(err)
		}
	}
	return f.parser.Elements
}

// malformed tells of a bad element: line, column, and a caret under it. Once per cause, since a log repeats itself. explained is
// false for one of too many.
func (f *Filter) malformed(text []byte, err error) (explained bool) {
	if errors.Is(err, markup.ErrMalformed) || f.faults.left(f.line, f.objects != nil) <= 0 {
		return false
	}
	f.faults.explained(f.line)
	cause := err.Error()
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		cause = fe.Msg
	}
	f.warn(cause, markup.Explain(f.line, text, err))
	return true
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

// elements writes a text with its elements in readable form.
func (w *textPrinter) elements(dst []byte, s parse.Segment, items []item) []byte {
	dst = w.inPlace(dst, s, items, 0, len(s.Text))
	if w.opt.Style == Append {
		for i := range items {
			if e := items[i].el; !e.Keep && !e.Contextual() && e.Tag != markup.Dumpfile {
				dst = w.elementBelow(dst, s, &items[i])
			}
		}
	}
	return dst
}

// inPlace writes text[from:to] with every element in its place replaced.
func (w *textPrinter) inPlace(dst []byte, s parse.Segment, items []item, from, to int) []byte {
	pos := from
	for i := range items {
		it := &items[i]
		e := it.el
		if e.Start < from || e.End > to {
			continue
		}
		dst = append(dst, s.Text[pos:e.Start]...)
		w.followColour(s.Text[pos:e.Start])
		pos = e.End
		raw := s.Text[e.Start:e.End]
		switch {
		case e.Tag == markup.Hexdict:
			tag := min(len(raw), dumpTag)
			dst = w.Dump(append(dst, raw[:tag]...), raw[tag:], it.values)
		case e.Keep || w.opt.Style == Append || e.Contextual() && w.opt.Context == ContextKeep:
			dst = append(dst, raw...)
		case !s.JSON:
			dst = w.replaced(dst, s.Text, it)
		default:
			text := w.replaced(nil, s.Text, it)
			if rest, same := bytes.CutPrefix(text, w.outside(raw)); same { // it stays as it is written
				dst, text = append(dst, raw...), rest
			}
			dst = appendJSON(dst, text)
		}
	}
	return append(dst, s.Text[pos:to]...)
}

// elementBelow adds what an element stands for below the text that it stays in.
func (w *textPrinter) elementBelow(dst []byte, s parse.Segment, it *item) []byte {
	raw := w.outside(s.Text[it.el.Start:it.el.End])
	text := w.replaced(nil, s.Text, it)
	if bytes.HasPrefix(text, raw) || len(text) == 0 {
		return dst
	}
	return w.below(dst, s, func(b []byte) []byte { return append(b, text...) })
}

// replaced writes the readable form of one element, or the element itself if nothing is known.
func (w *textPrinter) replaced(dst, text []byte, it *item) []byte {
	e, a := it.el, it.answer
	raw := w.outside(text[e.Start:e.End])
	switch e.Tag {
	case markup.Symbol:
		if it.name == "" {
			return dst
		}
		return w.appendName(dst, w.opt.Names.function(it.name, ""), false)
	case markup.Reset, markup.Module, markup.MMap:
		return w.contextInPlace(dst, raw, it)
	case markup.Dumpfile:
		return w.dumpfile(dst, &e.Element)
	}
	switch {
	case len(a.Frames) == 0:
		return w.unresolved(dst, raw, text[e.End:], e.Addr-a.Back, a)
	case e.Tag == markup.Data:
		return w.appendVariable(dst, a, 0)
	case e.Tag == markup.PC:
		dst = append(w.appendFunc(dst, a, 0), '[')
		return append(w.appendFile(dst, a, 0, false), ']')
	}
	return w.appendMessage(w.appendReason(w.appendSentence(dst, a), a, text, e.End), e)
}
