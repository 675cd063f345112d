package filter

import (
	"bytes"
	"context"
	"strconv"

	"qss-filter/filter/frame"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// agreement is an answer and a name of the log, with the offset in it, that stand against each other.
type agreement struct {
	answer *answer
	hint   string
}

// agreeing returns the answer for a frame where the name that the log has for it does not contradict: a file that was taken by
// its name alone may be of another build. It is, where it has a function of that name elsewhere.
func (f *Filter) agreeing(ctx context.Context, a *answer, fr *sighting) *answer {
	if len(fr.hint) == 0 || fr.Base == frame.FromSymbol || len(a.frames) == 0 || a.kind != symsrc.Code || !a.unverified() {
		return a
	}
	if known := f.memo.agreed[agreement{a, string(fr.hint)}]; known != nil {
		return known
	}
	agreed := a
	if name, offset, has := splitHint(fr.hint); name != "" && f.contradicts(ctx, a, name, offset, has) {
		other := *a
		other.known, other.frames, other.links, other.excerpts, other.places, other.elsewhere = nil, nil, nil, nil, nil, name
		agreed = &other
	}
	if f.memo.agreed == nil || len(f.memo.agreed) >= memoLimit {
		f.memo.agreed = map[agreement]*answer{}
	}
	f.memo.agreed[agreement{a, string(fr.hint)}] = agreed
	return agreed
}

// maxMoved is how far the places of one address may differ for emitters that move it into its call: the width of an
// instruction.
const maxMoved = 4

// contradicts reports whether the file has functions of that name, and none where the log has it: at offset before the address,
// or, where it has none, around it.
func (f *Filter) contradicts(ctx context.Context, a *answer, name string, offset uint64, has bool) bool {
	plain := demangle.PlainName(name)
	for i := range a.known {
		if fr := &a.known[i]; (i < len(a.known)-1 || !has) && (demangle.PlainName(fr.Func) == plain || demangle.PlainName(fr.Linkage) == plain) {
			return false // of an inlined function the offset counts from elsewhere
		}
	}
	q := symsrc.Addr{Module: a.mod.Module, Kind: symsrc.Named, Space: a.space, Offset: a.off + a.back, Symbol: name}
	named := f.opt.Symbols.Frames(ctx, q).Frames
	for i := range named {
		at := named[i].Offset
		switch {
		case has && at-offset+maxMoved <= 2*maxMoved:
			return false
		case !has && (at <= named[i].Size || named[i].Size == 0):
			return false
		}
	}
	if len(named) > 0 {
		return true
	}
	return has && plain != "" && a.mod.files.DebugStatus == symsrc.OK && f.inside(ctx, q, offset)
}

// inside reports whether the function that the log has at offset before an address would begin within another one of the file. One
// with debug information knows the names of all functions.
func (f *Filter) inside(ctx context.Context, q symsrc.Addr, offset uint64) bool {
	q.Offset -= offset
	code := q
	code.Kind, code.Symbol = symsrc.Code, ""
	over := f.opt.Symbols.Frames(ctx, code).Frames
	if len(over) == 0 || over[len(over)-1].Origin == symsrc.DebugOnly {
		return false
	}
	q.Symbol = over[len(over)-1].Linkage
	within := false
	for _, fn := range f.opt.Symbols.Frames(ctx, q).Frames {
		if fn.Offset+maxMoved <= 2*maxMoved {
			return false
		}
		within = within || fn.Offset < fn.Size
	}
	return within
}

// hintOf returns where a frame names its function.
func hintOf(fr *frame.Frame) frame.Span {
	switch {
	case !fr.Hint.Empty():
		return fr.Hint
	case fr.Shape == frame.Fields:
		return fr.Func
	case fr.Base == frame.FromSymbol:
		return fr.Symbol
	}
	return fr.Gap
}

// withoutIn takes off what stands before a function's name.
func withoutIn(text []byte) []byte {
	return bytes.TrimPrefix(bytes.TrimLeft(text, " \t,"), []byte("in "))
}

// splitHint splits `f(int)+0x17`, `f + 23`, `in f` or `, in f` into the name and the offset in it; has is set where there is one.
func splitHint(text []byte) (name string, offset uint64, has bool) {
	text = withoutIn(text)
	if k := bytes.Index(text, []byte("  (")); k > 0 { // hs_err has a source file there
		text = text[:k]
	}
	text = bytes.TrimRight(text, " \t")
	if k := bytes.LastIndexByte(text, '+'); k > 0 {
		var err error
		if offset, err = strconv.ParseUint(string(bytes.TrimLeft(text[k+1:], " ")), 0, 64); err == nil {
			text, has = bytes.TrimRight(text[:k], " "), true
		}
	}
	return string(text), offset, has
}
