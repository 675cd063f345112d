package filter

import (
	"bytes"
	"context"
	"fmt"

	"qss-filter/ctxstate"
	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// item is an element or a frame of a text, with what became of it.
type item struct {
	el *parse.Element // nil for a frame of another format
	fr *parse.Frame   // nil for an element
	// answer is what is known of the address; nil if nothing was asked.
	answer *resolve.Answer
	// number is the one that the frame's line gets.
	number uint64
	// context is what a context element has done, err why it has done nothing.
	context contextEffect
	err     error
	// explained is set if err is one of the errors that are told of.
	explained bool
	// name is the readable form of a symbol.
	name string
	// values are those of a dump that point at something.
	values []parse.Pair
	// below are the lines that the observer puts below the frame; apart asks for an empty line above it.
	below [][]byte
	apart bool
}

// contextEffect is what became of a context element.
type contextEffect struct {
	tag    markup.Tag // Unknown if it had nothing to clear
	module *ctxstate.Module
	mapped mapped
	// at is the mapping as it was added.
	at ctxstate.Mapping
}

// resolve reads the elements of a text, or its frames if it has no elements, and finds what they are, in their order: a mapping counts
// for the frames after it. alone is the item whose line the text is, -1 if it is none's. The items hold until the next call.
func (f *Filter) resolve(ctx context.Context, t *resolve.Thread, s parse.Segment) (items []item, alone int) {
	if parse.HasMarkup(s.Text) {
		if elements := f.parse(s.Text); len(elements) > 0 {
			return f.resolveElements(ctx, t, s, elements)
		}
	}
	return f.resolveFrames(ctx, t, s)
}

// resolveFrames finds what the frames of a text are.
func (f *Filter) resolveFrames(ctx context.Context, t *resolve.Thread, s parse.Segment) (items []item, alone int) {
	frames := f.frames(s, t.Stack.Shift > 0 || f.observed())
	if alone = -1; len(frames) == 1 && frames[0].Shape != frame.Pair {
		alone = 0
	}
	f.items = f.items[:0]
	for i := range frames {
		fr := &frames[i]
		it := item{fr: fr, number: fr.Number, answer: f.resolver.ResolveFrame(ctx, t, f.line, s.Text, fr)}
		f.observe(t, s.Text, &it, i == alone)
		if f.opt.Renumber != RenumberNever && fr.Counts && f.renumbers {
			if !fr.Num.Empty() {
				it.number = t.Stack.Number(fr.Number)
			}
			ownLines := alone >= 0
			if f.opt.Style == Append {
				ownLines = f.opt.Observe == nil && !fr.Num.Empty()
			}
			if n := it.functions(); n > 0 && ownLines {
				t.Stack.Insert(n - 1)
			}
		}
		f.items = append(f.items, it)
	}
	return f.items, alone
}

// frames returns the frames of a text.
func (f *Filter) frames(s parse.Segment, renumbering bool) []parse.Frame {
	if !f.parser.ReadFrames(s, renumbering, f.absolutes()) {
		f.warn("search", fmt.Sprintf("line %d: too much of it is almost a frame: the rest of such a line passes as it came", f.line))
	}
	return f.parser.Frames
}

// functions returns how many functions the item names.
func (it *item) functions() int {
	if it.answer == nil {
		return 0
	}
	return len(it.answer.Frames)
}

// resolveElements finds what the elements of a text are.
func (f *Filter) resolveElements(ctx context.Context, t *resolve.Thread, s parse.Segment, elements []parse.Element) (items []item, alone int) {
	alone = parse.FrameElement(s, elements)
	f.items = f.items[:0]
	for i := range elements {
		f.items = append(f.items, f.resolveElement(ctx, t, s, &elements[i], i == alone))
	}
	return f.items, alone
}

// resolveElement finds what an element is. alone is set if it is a frame, and the text its line.
func (f *Filter) resolveElement(ctx context.Context, t *resolve.Thread, s parse.Segment, e *parse.Element, alone bool) item {
	it := item{el: e, number: e.BTFields.Num}
	kind, adjustment := symsrc.Code, resolve.Exact.Because(resolve.ByTag)
	switch {
	case e.Contextual():
		if it.context, it.err = f.apply(t, &e.Element); it.err != nil {
			it.explained = f.malformed(s.Text, it.err)
		}
		return it
	case e.Tag == markup.Hexdict:
		it.values = f.pointing(ctx, t, s.Text[e.Start:e.End][min(e.End-e.Start, dumpTag):])
		return it
	case e.Keep:
		return it
	case e.Tag == markup.Dumpfile:
		f.announce(t.Process, &e.Element)
		return it
	case e.Tag == markup.Symbol:
		it.name = f.demangled(e)
		return it
	case e.Tag == markup.Data:
		kind = symsrc.Data
	default:
		adjustment = f.resolver.AdjustMarkup(t, e.Type, e.Tag == markup.PC)
	}
	it.answer = f.resolver.ResolveAddress(ctx, t.Process, e.Addr, kind, adjustment)
	it.answer.Count()
	if e.Tag == markup.BT {
		t.Over(f.line, it.answer)
	}
	f.observe(t, s.Text, &it, alone)
	if alone && f.opt.Renumber == RenumberAlways && f.renumbers && (it.functions() > 0 || it.answer.Module != nil && f.opt.Style == Annotate) &&
		(f.opt.Style != Append || f.opt.Observe == nil) {
		it.number = t.Stack.Number(it.number)
		t.Stack.Insert(max(0, it.functions()-1))
	}
	return it
}

// demangled returns the readable form of a symbol.
func (f *Filter) demangled(e *parse.Element) string {
	body, _ := e.Symbol()
	mangled := string(body)
	name := mangled
	if f.faults.demangles(f.line, len(mangled)) {
		name = demangle.Symbol(mangled)
	} else {
		f.warn("mangled", fmt.Sprintf("line %d: too many long names in one line: the rest of such a line's stay mangled", f.line))
	}
	return name
}

// apply lets a context element take effect. For a reset that had nothing to clear the effect is Unknown.
func (f *Filter) apply(t *resolve.Thread, e *markup.Element) (done contextEffect, err error) {
	e.Terse = f.faults.left(f.line, f.objects != nil) <= 0
	switch e.Tag {
	case markup.Reset:
		f.dumpContext("reset", t.Process)
		if t.Space.Reset() {
			done.tag = markup.Reset
		}
		return done, nil
	case markup.Module:
		def, err := markup.ParseModule(e)
		if err != nil {
			return done, err
		}
		if old := t.Space.AddModule(def); old != nil {
			f.warn("duplicate module", fmt.Sprintf("line %d: module ID %#x defined again, was %q: the newest definition counts",
				f.line, def.ID, old.Name))
		}
		m, _ := t.Space.Module(def.ID)
		return contextEffect{tag: markup.Module, module: m}, nil
	}
	def, err := markup.ParseMMap(e)
	if err != nil {
		return done, err
	}
	if cutTo32(e.Body) {
		t.Space.CutTo32()
	}
	at, err := t.Space.AddMMap(def)
	if err != nil {
		return done, &markup.FieldError{Offset: e.Start, Msg: err.Error()}
	}
	return contextEffect{markup.MMap, at.Module, mapped{def.Start, def.Start + def.Size - 1, def.Mode}, *at}, nil
}

// cutTo32 reports whether a mapping is of LLVM's own stack traces, whose addresses have lost their upper half: `0x` and 14
// digits, of which six at least are zeros, as `%#016x` prints 32 bits.
func cutTo32(body []byte) bool {
	start, _, _ := bytes.Cut(body, []byte(":"))
	return len(start) == 16 && bytes.HasPrefix(start, []byte("0x000000"))
}
