package resolve

import (
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// hinted is an answer, and the function and offset that the log has for it.
type hinted struct {
	answer *Answer
	hint   string
}

// agreeing returns the answer for a frame, without names if the function that the log has for it contradicts: a file that was
// found by its name alone may be of another build. It is if it has a function of that name elsewhere.
func (r *Resolver) agreeing(ctx context.Context, a *Answer, fr *parse.Frame) *Answer {
	if len(fr.HintText) == 0 || fr.Base == frame.FromSymbol || len(a.Frames) == 0 || a.Kind != symsrc.Code || !a.byPath() {
		return a
	}
	if known := r.memo.agreed[hinted{a, string(fr.HintText)}]; known != nil {
		return known
	}
	agreed := a
	if name, offset, has := parse.SplitHint(fr.HintText); name != "" && r.compare(ctx, a, name, offset, has) == contradicts {
		other := *a
		other.Frames, other.Printed, other.Elsewhere = nil, nil, name
		agreed = &other
	}
	if r.memo.agreed == nil || len(r.memo.agreed) >= MemoLimit {
		r.memo.agreed = map[hinted]*Answer{}
	}
	r.memo.agreed[hinted{a, string(fr.HintText)}] = agreed
	return agreed
}

// maxMoved is by how many bytes an emitter may have moved an address into its call: the width of an instruction.
const maxMoved = 4

// comparison is what a name in the log says of the file.
type comparison uint8

const (
	saysNothing comparison = iota
	// agrees means that the file has the function at the place that the log has.
	agrees
	// contradicts means that the file has functions of that name, but none there.
	contradicts
)

// compare compares a function that the log names with the file. Its place is offset bytes before the address or, if has is false,
// around it.
func (r *Resolver) compare(ctx context.Context, a *Answer, name string, offset uint64, has bool) comparison {
	plain := demangle.PlainName(name)
	for i := range a.Frames {
		if fr := &a.Frames[i]; (i < len(a.Frames)-1 || !has) && (demangle.PlainName(fr.Func) == plain || demangle.PlainName(fr.Linkage) == plain) {
			return agrees // the offset in an inlined function does not count from its beginning
		}
	}
	q := symsrc.Addr{Module: a.Module.Module, Kind: symsrc.Named, Space: a.Space, Offset: a.Offset + a.Back, Symbol: name}
	named := r.opt.Symbols.Frames(ctx, q).Frames
	for i := range named {
		at := named[i].Offset
		switch {
		case has && at-offset+maxMoved <= 2*maxMoved:
			return agrees
		case !has && (at <= named[i].Size || named[i].Size == 0):
			return agrees
		}
	}
	if len(named) > 0 || has && plain != "" && a.Files().DebugStatus == symsrc.OK && r.inside(ctx, q, offset) {
		return contradicts
	}
	return saysNothing
}

// inside reports whether the function that the log has at offset before an address would begin within another function of the
// file. A file with debug information has the names of all functions.
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
