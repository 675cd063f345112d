package filter

import (
	"bytes"
	"context"
	"slices"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// context handles a line on which context elements stand alone but for loggers' prefixes: they take effect, and the line is
// folded. Where one of them is malformed the line stays as it is. ok is false where anything else stands on it: then nothing has
// happened yet.
func (f *Filter) context(dst []byte, p *resolve.Thread, body, end []byte) (out []byte, ok bool) {
	pos, last := f.words(body)
	if first, ok := markup.Next(body, pos); !ok || !first.Contextual() {
		return dst, false
	}
	f.parse(body)
	if f.parser.Elements[0].Start < pos { // inside the prefix
		return dst, false
	}
	for i := range f.parser.Elements {
		e := &f.parser.Elements[i]
		if !e.Contextual() || len(bytes.TrimSpace(body[pos:e.Start])) > 0 {
			return dst, false
		}
		pos = e.End
	}
	if pos > last || len(bytes.TrimSpace(body[pos:last])) > 0 {
		return dst, false
	}
	items, _ := f.resolveElements(context.Background(), p, parse.Segment{Text: body}, f.parser.Elements)
	return f.out.Context(dst, p, body, end, last, items), true
}

// context writes a line on which context elements stand alone up to body[last:]: as it is, or folded.
func (w *textPrinter) Context(dst []byte, _ *resolve.Thread, body, end []byte, last int, items []item) []byte {
	switch {
	case w.opt.Context == ContextKeep:
		return append(append(dst, body...), end...)
	case slices.ContainsFunc(items, func(it item) bool { return it.err != nil }):
		return append(append(w.fold.flush(dst), body...), end...)
	case w.opt.Context == ContextDrop:
		return dst
	}
	indent := body[:items[0].el.Start]
	if last < len(body) {
		end = append(bytes.Clone(body[last:]), end...)
	}
	for i := range items {
		switch e := &items[i].context; e.tag {
		case markup.Module:
			dst = w.fold.define(dst, e.module, indent, end)
		case markup.MMap:
			dst = w.fold.add(dst, e.module, e.mapped, indent, end)
		case markup.Reset:
			dst = w.fold.flush(dst)
			dst = append(dst, indent...)
			dst = appendReset(dst, &items[i].el.Element)
			dst = append(dst, end...)
		}
	}
	return dst
}

// words returns where on the line at hand the words of the program begin and end. A prefix that colours what follows counts as
// one of them, and so does that of a line that goes on in the next entry.
func (f *Filter) words(body []byte) (start, end int) {
	p := &f.parser.Prefix
	if p.Partial || bytes.IndexByte(body, 0x1b) >= 0 {
		return 0, len(body)
	}
	return p.Start, p.End
}

func appendReset(dst []byte, e *markup.Element) []byte {
	dst = append(dst, "[[[reset"...)
	if e.Body != nil {
		dst = symsrc.AppendVisible(append(dst, ':'), string(e.Body))
	}
	return append(dst, "]]]"...)
}

// contextInPlace writes a context element that shares its line with other text.
func (w *textPrinter) contextInPlace(dst, raw []byte, it *item) []byte {
	switch e := &it.context; {
	case it.err != nil:
		return append(dst, raw...)
	case w.opt.Context == ContextDrop:
		return dst
	case e.tag == markup.Module:
		return appendModule(dst, e.module, true, nil)
	case e.tag == markup.MMap:
		return appendModule(dst, e.module, false, []mapped{e.mapped})
	}
	return appendReset(dst, &it.el.Element)
}
