package filter

import (
	"context"

	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// memoLimit bounds each of the memo's tables. A full one is emptied: a log repeats its frames within a short time.
const memoLimit = 1 << 16

// memo remembers modules and answers, with their finished text.
type memo struct {
	modules map[string]*module
	answers map[question]*answer
	markup  map[markupQuestion]*answer
}

// module is one binary of the log, and what became of its frames.
type module struct {
	symsrc.Module
	frames     int
	unresolved int
	files      *symsrc.Files
}

type question struct {
	mod  *module
	off  uint64
	kind symsrc.Kind
}

// markupQuestion is an absolute address in one state of a process's address space.
type markupQuestion struct {
	proc       *process
	generation uint64
	addr       uint64
	kind       symsrc.Kind
}

// answer is a module-relative address with what is known of it.
type answer struct {
	// mod is nil where no mapping covers the address.
	mod    *module
	off    uint64
	kind   symsrc.Kind
	frames []symsrc.Frame
	// places holds the text `func file:line:col` of each frame, in colour where the filter writes colours.
	places [][]byte
}

func (m *memo) init() {
	m.modules = map[string]*module{}
	m.answers = map[question]*answer{}
	m.markup = map[markupQuestion]*answer{}
}

// module gives the module of that name and build ID; id is raw bytes.
func (f *Filter) module(name []byte, id symsrc.BuildID) *module {
	key := append(f.intern[:0], name...)
	key = append(append(key, 0), id...)
	f.intern = key
	m := f.memo.modules[string(key)]
	if m == nil {
		if len(f.memo.modules) >= memoLimit {
			f.memo.init()
		}
		m = &module{Module: symsrc.Module{Name: string(name), BuildID: id}}
		f.memo.modules[string(key)] = m
	}
	return m
}

// ask gives the answer for a module-relative address.
func (f *Filter) ask(ctx context.Context, m *module, off uint64, kind symsrc.Kind) *answer {
	q := question{m, off, kind}
	a := f.memo.answers[q]
	if a == nil {
		got := f.opt.Symbols.Frames(ctx, symsrc.Addr{Module: m.Module, Offset: off, Kind: kind})
		a = &answer{mod: m, off: off, kind: kind, frames: got.Frames}
		if got.Files != nil {
			m.files = got.Files
		}
		f.finish(a)
		if len(f.memo.answers) >= memoLimit {
			clear(f.memo.answers)
			clear(f.memo.markup)
		}
		f.memo.answers[q] = a
	}
	return a
}

// askMarkup gives the answer for an absolute address of a process. Its mod is nil where no mapping covers it.
func (f *Filter) askMarkup(ctx context.Context, p *process, addr uint64, kind symsrc.Kind) *answer {
	q := markupQuestion{p, p.space.Generation(), addr, kind}
	if a := f.memo.markup[q]; a != nil {
		return a
	}
	a := &answer{}
	at, ok := p.space.Resolve(addr)
	if p.space.Cut() {
		at, addr, ok = p.space.ResolveCut(addr, kind == symsrc.Code)
	}
	if ok {
		m := f.module([]byte(at.Module.Name), symsrc.BuildID(at.Module.BuildID))
		a = f.ask(ctx, m, at.ModuleAddr(addr), kind)
	}
	if len(f.memo.markup) >= memoLimit {
		clear(f.memo.markup)
	}
	f.memo.markup[q] = a
	return a
}

// count notes a frame of the log for the summary.
func (a *answer) count() {
	if a.mod == nil {
		return
	}
	a.mod.frames++
	if len(a.frames) == 0 {
		a.mod.unresolved++
	}
}

// finish prepares the text of an answer. Frames that know nothing are dropped: they would say nothing.
func (f *Filter) finish(a *answer) {
	known := a.frames[:0:0]
	for _, fr := range a.frames {
		if fr.Func != "" || fr.File != "" {
			known = append(known, fr)
		}
	}
	a.frames = known
	// The memo is for places where the log has no colour of its own.
	restore := f.colour
	f.colour = sgr.State{}
	defer func() { f.colour = restore }()
	for i := range a.frames {
		a.places = append(a.places, f.appendPlace(nil, a, i))
	}
}
