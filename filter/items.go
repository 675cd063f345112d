package filter

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// resolve finds what the elements or frames of a segment are, in their order. alone is the index of the one whose line the segment is,
// -1 if it is none's. The items hold until the next call.
func (f *Filter) resolve(ctx context.Context, t *resolve.Thread, l *parse.Line, alone int) []print.Item {
	f.items = f.items[:0]
	for i := range f.parser.Elements {
		e := &f.parser.Elements[i]
		f.items = append(f.items, print.Item{Element: e, Number: e.BTFields.Num})
		f.resolveElement(ctx, t, l, &f.items[i], i == alone)
	}
	for i := range f.parser.Frames {
		fr := &f.parser.Frames[i]
		f.items = append(f.items, print.Item{Frame: fr, Number: fr.Number})
		f.resolveFrame(ctx, t, l, &f.items[i], i == alone)
	}
	return f.items
}

// resolveFrame finds what a frame is. alone is set if the segment is its line.
func (f *Filter) resolveFrame(ctx context.Context, t *resolve.Thread, l *parse.Line, it *print.Item, alone bool) {
	fr := it.Frame
	if fr.Shape == frame.Thrown {
		it.Name = f.original.thrown
		return
	}
	if is := f.recalled; is != nil {
		it.Answer = is.kept.Answer()
		f.resolver.Counts.Again(is.outcome, it.Answer)
		t.Again(f.line, fr.Number, &is.kept)
	} else if it.Answer = f.javaAnswer(t, fr); it.Answer != nil {
		f.resolver.Counts.Count(fr, it.Answer)
	} else {
		it.Answer = f.resolver.ResolveFrame(ctx, t, f.line, l.Text, fr)
	}
	f.warnRefused(it.Answer)
	f.warnOther(it.Answer)
	f.miss(fr, it.Answer)
	f.observe(t, l.Text, it, alone)
	if f.opt.Renumber == print.RenumberNever || !fr.Counts || !f.renumbers {
		return
	}
	if !fr.Num.Empty() {
		it.Number = t.Stack.Number(fr.Number)
	}
	ownLines := alone
	if f.opt.Style == print.Append {
		ownLines = !f.opt.Below && !fr.Num.Empty()
	}
	if n := it.Functions(); n > 0 && ownLines {
		t.Stack.Insert(n - 1)
	}
}

// resolveElement finds what an element is. alone is set if it is a frame, and the segment its line.
func (f *Filter) resolveElement(ctx context.Context, t *resolve.Thread, l *parse.Line, it *print.Item, alone bool) {
	e := it.Element
	kind, rule := symsrc.Code, resolve.ExactByTag
	switch {
	case e.Contextual():
		if it.Context, it.Err = f.apply(t, &e.Element); it.Err != nil {
			it.Explained = f.malformed(f.line, l.Text, it.Err)
		}
		return
	case e.Tag == markup.Hexdict:
		it.Values = f.dump.pointing(ctx, t, l.Segment, e)
		return
	case e.Keep:
		return
	case e.Tag == markup.Dumpfile:
		f.context.announce(f.line, t.Process, &e.Element)
		return
	case e.Tag == markup.Symbol:
		mangled, _ := e.Symbol()
		it.Name = f.demangled(f.line, string(mangled))
		return
	case e.Tag == markup.Data:
		kind = symsrc.Data
	default:
		if e.Tag == markup.BT && alone {
			f.resolver.NextElement(t, f.line, e.BTFields.Num)
		}
		rule = f.resolver.ElementRule(t, l.Text, e.Addr, f.opt.Adjust.Element(t, e.Type, e.Tag == markup.PC))
	}
	it.Answer = f.resolver.ResolveAddress(ctx, t.Process, e.Addr, kind, rule)
	f.resolver.Counts.Count(nil, it.Answer)
	f.warnRefused(it.Answer)
	f.miss(nil, it.Answer)
	if e.Tag == markup.BT {
		t.Answered(f.line, it.Answer)
		f.asked = shownBy{dependsOn(t, it.Answer, rule), e.Type}
	}
	f.observe(t, l.Text, it, alone)
	if alone && f.opt.Renumber == print.RenumberAlways && f.renumbers && (it.Functions() > 0 || it.Answer.Module != nil && f.opt.Style == print.Annotate) &&
		(f.opt.Style != print.Append || !f.opt.Below) {
		it.Number = t.Stack.Number(it.Number)
		t.Stack.Insert(max(0, it.Functions()-1))
	}
}

// warnRefused warns of the first frame whose file is not used, since nothing proves it. Of files that a user has pointed at, more was said.
func (f *Filter) warnRefused(a *resolve.Answer) {
	if a == nil || a.Refused == "" || f.hasSaid(refused) || f.said[refutedCause(a.Files())] {
		return
	}
	f.warn(refused, fmt.Sprintf("line %d: %s is not used: %s", f.line, a.Module.Shown, strings.TrimPrefix(a.Refused, "not verified: ")))
}

// refused is the cause of warnRefused.
const refused = "refused"

// warnOther warns of the first frame of Java whose map is of another build.
func (f *Filter) warnOther(a *resolve.Answer) {
	if a != nil && a.Java != nil && a.Outcome() == resolve.Outcome(symsrc.MismatchBuildID) {
		f.warn("other map", fmt.Sprintf("line %d: %s", f.line, a.Explanation()))
	}
}

// maxMissed is how many modules Options.Missing is told of.
const maxMissed = 3

// miss tells Options.Missing of the module of an answer, if its unstripped file is missing, and the log does not name the function of the frame, which
// is nil for an element.
func (f *Filter) miss(fr *parse.Frame, a *resolve.Answer) {
	if f.opt.Missing == nil || a == nil || a.Module == nil || a.Java != nil || len(f.missed) >= maxMissed || !a.Outcome().WantsFile() || slices.Contains(f.missed, a.Module) ||
		resolve.OutcomeOf(fr, a) == resolve.InLog {
		return
	}
	f.missed = append(f.missed, a.Module)
	f.opt.Missing(a.Module.Module)
}

// apply lets a context element take effect. For a reset that had nothing to clear the effect is Unknown.
func (f *Filter) apply(t *resolve.Thread, e *markup.Element) (done print.Effect, err error) {
	e.Terse = f.left(f.line) <= 0
	switch e.Tag {
	case markup.Reset:
		f.context.write("reset", f.line, t.Process)
		t.Process.Restart()
		if t.Space.Reset() {
			done.Tag = markup.Reset
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
		f.unidentified = f.unidentified || def.BuildID == ""
		m, _ := t.Space.Module(def.ID)
		return print.Effect{Tag: markup.Module, Module: m}, nil
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
	return print.Effect{Tag: markup.MMap, Module: at.Module, Mapped: print.Range{Start: def.Start, Last: def.Start + def.Size - 1, Mode: def.Mode}, At: at}, nil
}

// cutTo32 reports whether a mapping is of LLVM's own stack traces, whose addresses have lost their upper half: `0x` and 14
// digits, of which six at least are zeros, as `%#016x` prints 32 bits.
func cutTo32(body []byte) bool {
	start, _, _ := bytes.Cut(body, []byte(":"))
	return len(start) == 16 && bytes.HasPrefix(start, []byte("0x000000"))
}
