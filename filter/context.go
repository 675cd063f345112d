package filter

import (
	"bytes"
	"fmt"

	"qss-filter/ctxstate"
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
	var few [4]contextEffect
	effects, bad := few[:0], false
	for i := range f.parser.Elements {
		tag, m, r, err := f.apply(p, &f.parser.Elements[i].Element)
		if err != nil {
			f.malformed(body, err)
			bad = true
		}
		effects = append(effects, contextEffect{tag, m, r})
	}
	switch {
	case f.opt.Context == ContextKeep:
		return append(append(dst, body...), end...), true
	case bad:
		return append(append(f.fold.flush(dst), body...), end...), true
	case f.opt.Context == ContextDrop:
		return dst, true
	}
	indent := body[:f.parser.Elements[0].Start]
	if last < len(body) {
		end = append(bytes.Clone(body[last:]), end...)
	}
	for i, e := range effects {
		switch e.tag {
		case markup.Module:
			dst = f.fold.define(dst, e.module, indent, end)
		case markup.MMap:
			dst = f.fold.add(dst, e.module, e.mapped, indent, end)
		case markup.Reset:
			dst = f.fold.flush(dst)
			dst = append(dst, indent...)
			dst = appendReset(dst, &f.parser.Elements[i].Element)
			dst = append(dst, end...)
		}
	}
	return dst, true
}

// contextEffect is what became of a context element.
type contextEffect struct {
	tag    markup.Tag // Unknown where it had nothing to clear
	module *ctxstate.Module
	mapped mapped
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

// apply lets a context element take effect. For a reset that had nothing to clear the effect is Unknown.
func (f *Filter) apply(p *resolve.Thread, e *markup.Element) (effect markup.Tag, m *ctxstate.Module, r mapped, err error) {
	e.Terse = f.faults.left(f.line, f.recorder != nil) <= 0
	switch e.Tag {
	case markup.Reset:
		f.dumpContext("reset", p.Process)
		f.recorder.context(p.Process, markup.Reset, nil, nil)
		if !p.Space.Reset() {
			return markup.Unknown, nil, r, nil
		}
		return markup.Reset, nil, r, nil
	case markup.Module:
		def, err := markup.ParseModule(e)
		if err != nil {
			return 0, nil, r, err
		}
		if old := p.Space.AddModule(def); old != nil {
			f.warn("duplicate module", fmt.Sprintf("line %d: module ID %#x defined again, was %q: the newest definition counts",
				f.line, def.ID, old.Name))
		}
		m, _ := p.Space.Module(def.ID)
		f.recorder.context(p.Process, markup.Module, m, nil)
		return markup.Module, m, r, nil
	}
	def, err := markup.ParseMMap(e)
	if err != nil {
		return 0, nil, r, err
	}
	if cutTo32(e.Body) {
		p.Space.CutTo32()
	}
	at, err := p.Space.AddMMap(def)
	if err != nil {
		return 0, nil, r, &markup.FieldError{Offset: e.Start, Msg: err.Error()}
	}
	f.recorder.context(p.Process, markup.MMap, nil, at)
	return markup.MMap, at.Module, mapped{def.Start, def.Start + def.Size - 1, def.Mode}, nil
}

func appendReset(dst []byte, e *markup.Element) []byte {
	dst = append(dst, "[[[reset"...)
	if e.Body != nil {
		dst = symsrc.AppendVisible(append(dst, ':'), string(e.Body))
	}
	return append(dst, "]]]"...)
}

// effect lets a context element that stays as it is take effect all the same.
func (f *Filter) effect(p *resolve.Thread, text []byte, e *parse.Element) {
	if !e.Contextual() {
		return
	}
	if _, _, _, err := f.apply(p, &e.Element); err != nil {
		f.malformed(text, err)
	}
}

// contextInPlace writes a context element that shares its line with other text.
func (f *Filter) contextInPlace(dst []byte, p *resolve.Thread, text []byte, e *parse.Element) []byte {
	effect, m, r, err := f.apply(p, &e.Element)
	if err != nil {
		f.malformed(text, err)
		return append(dst, f.parser.Outside(text[e.Start:e.End])...)
	}
	if f.opt.Context == ContextDrop {
		return dst
	}
	switch effect {
	case markup.Module:
		return appendModule(dst, m, true, nil)
	case markup.MMap:
		return appendModule(dst, m, false, []mapped{r})
	}
	return appendReset(dst, &e.Element)
}

// cutTo32 tells the mmap elements of LLVM's own stack traces, whose addresses have lost their upper half: `0x` and 14
// digits, of which six at least are zeros, as `%#016x` prints 32 bits.
func cutTo32(body []byte) bool {
	start, _, _ := bytes.Cut(body, []byte(":"))
	return len(start) == 16 && bytes.HasPrefix(start, []byte("0x000000"))
}
