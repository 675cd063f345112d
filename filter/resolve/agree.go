package resolve

import (
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// agreement is an answer and a name of the log, with the offset in it, that stand against each other.
type agreement struct {
	answer *Answer
	hint   string
}

// agreeing returns the answer for a frame where the name that the log has for it does not contradict: a file that was taken by
// its name alone may be of another build. It is, where it has a function of that name elsewhere.
func (r *Resolver) agreeing(ctx context.Context, a *Answer, fr *parse.Frame) *Answer {
	if len(fr.HintText) == 0 || fr.Base == frame.FromSymbol || len(a.Frames) == 0 || a.Kind != symsrc.Code || !a.Unverified() {
		return a
	}
	if known := r.memo.agreed[agreement{a, string(fr.HintText)}]; known != nil {
		return known
	}
	agreed := a
	if name, offset, has := parse.SplitHint(fr.HintText); name != "" && r.contradicts(ctx, a, name, offset, has) {
		other := *a
		other.Frames, other.Printed, other.Elsewhere = nil, nil, name
		agreed = &other
	}
	if r.memo.agreed == nil || len(r.memo.agreed) >= MemoLimit {
		r.memo.agreed = map[agreement]*Answer{}
	}
	r.memo.agreed[agreement{a, string(fr.HintText)}] = agreed
	return agreed
}

// maxMoved is how far the places of one address may differ for emitters that move it into its call: the width of an
// instruction.
const maxMoved = 4

// contradicts reports whether the file has functions of that name, and none where the log has it: at offset before the address,
// or, where it has none, around it.
func (r *Resolver) contradicts(ctx context.Context, a *Answer, name string, offset uint64, has bool) bool {
	plain := demangle.PlainName(name)
	for i := range a.Frames {
		if fr := &a.Frames[i]; (i < len(a.Frames)-1 || !has) && (demangle.PlainName(fr.Func) == plain || demangle.PlainName(fr.Linkage) == plain) {
			return false // of an inlined function the offset counts from elsewhere
		}
	}
	q := symsrc.Addr{Module: a.Module.Module, Kind: symsrc.Named, Space: a.Space, Offset: a.Offset + a.Back, Symbol: name}
	named := r.opt.Symbols.Frames(ctx, q).Frames
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
	return has && plain != "" && a.Module.Files.DebugStatus == symsrc.OK && r.inside(ctx, q, offset)
}

// inside reports whether the function that the log has at offset before an address would begin within another one of the file. One
// with debug information knows the names of all functions.
func (r *Resolver) inside(ctx context.Context, q symsrc.Addr, offset uint64) bool {
	q.Offset -= offset
	code := q
	code.Kind, code.Symbol = symsrc.Code, ""
	over := r.opt.Symbols.Frames(ctx, code).Frames
	if len(over) == 0 || over[len(over)-1].Origin == symsrc.DebugOnly {
		return false
	}
	q.Symbol = over[len(over)-1].Linkage
	within := false
	for _, fn := range r.opt.Symbols.Frames(ctx, q).Frames {
		if fn.Offset+maxMoved <= 2*maxMoved {
			return false
		}
		within = within || fn.Offset < fn.Size
	}
	return within
}
