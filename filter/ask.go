package filter

import (
	"bytes"
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// lookUp returns the answer for a frame, nil where there is nothing to ask.
func (f *Filter) lookUp(ctx context.Context, t *thread, text []byte, fr *sighting) *answer {
	named := namesTrampoline(fr.hint)
	if fr.Done || fr.Shape == frame.NumberOnly {
		// Whether frames without a module are seen at all depends on who is told of them.
		t.trampoline = named || fr.Shape == frame.NumberOnly && t.trampoline
		f.observe(t, text, fr, nil)
		return nil
	}
	q, ok, absolute := f.question(t, text, fr)
	var a *answer
	switch {
	case absolute:
		a = f.agreeing(ctx, f.askAbsolute(ctx, t.process, q.off, q.kind, q.take), fr)
	case q.from != nil: // it lies where the name does
		a = f.ask(ctx, q)
	case ok:
		a = f.agreeing(ctx, f.ask(ctx, q), fr)
		f.asked = asked{q, a, fr.Convention, fr.Counts && fr.Shape == frame.Numbered && fr.Base == frame.InModule && fr.Space == symsrc.Linked && len(fr.buildID) > 0 && len(fr.member) == 0 && !named}
	default:
		t.trampoline = named
		f.observe(t, text, fr, nil)
		return nil
	}
	a.count()
	t.over(f.line, a)
	t.trampoline = t.trampoline || named
	f.observe(t, text, fr, a)
	return a
}

// question returns what a frame asks. Where absolute is set, off is an address of the process. ok is false where there is nothing
// to ask: no module is named, or no mapping covers the address.
func (f *Filter) question(t *thread, text []byte, fr *sighting) (q question, ok, absolute bool) {
	kind, take := symsrc.Code, f.takeText(t, fr.Convention, t.stack.first(f.line, !fr.Num.Empty(), fr.Number))
	if fr.Data {
		kind = symsrc.Data
	}
	if addr, ok := f.absolute(t, text, fr); ok {
		return question{off: addr, kind: kind, take: take}, false, true
	}
	m := f.moduleOf(t, fr)
	if m == nil {
		return q, false, false
	}
	q = question{mod: m, off: fr.Offset, kind: kind, space: fr.Space, take: take}
	if fr.Base == frame.FromSymbol {
		q.from = f.symbol(fr.symbol, fr.Size)
	}
	return q, true, false
}

// absolute returns the address of a frame that must be looked up in the process's mappings: since it names no module, or since
// its offset counts from where the emitter took the module to begin, and a list of mappings says better.
func (f *Filter) absolute(t *thread, text []byte, fr *sighting) (addr uint64, ok bool) {
	if fr.Base == frame.Absolute {
		return fr.Offset, true
	}
	if (fr.Space == symsrc.InImage || fr.Space == symsrc.InText) && !fr.Addr.Empty() && t.space.Listed() {
		addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
		_, ok = t.space.Resolve(addr)
	}
	return addr, ok
}

// The names of modules that frames leave out: those of Dart and Flutter are of the program's one library, those of the kernel
// that name no module are of the kernel itself.
var (
	dartLibrary = []byte("libapp.so")
	kernel      = []byte("vmlinux")
	kernelFile  = []byte(".ko")
)

// moduleOf returns the module of a frame that names one, or whose emitter has only one. A build ID that the log states elsewhere
// counts for a frame that has none.
func (f *Filter) moduleOf(t *thread, fr *sighting) *module {
	name, id := fr.module, fr.buildID
	switch {
	case fr.Base == frame.FromSymbol && fr.Size > 0:
		if len(name) == 0 {
			name = kernel
		} else if bytes.IndexByte(name, '.') < 0 {
			name = append(bytes.Clone(name), kernelFile...)
		}
	case len(name) == 0 && len(id) == 0 && len(t.dart) > 0:
		return f.module(dartLibrary, t.dart)
	case len(name) == 0 && len(id) == 0:
		return nil
	case len(fr.member) > 0 || fr.InArchive > 0:
		known, _ := symsrc.ParseBuildID(id)
		return f.member(name, fr.member, fr.InArchive, known)
	}
	if len(id) == 0 && len(t.buildIDs) > 0 {
		if known, ok := t.buildIDs[string(name[bytes.LastIndexByte(name, '/')+1:])]; ok {
			return f.module(name, known)
		}
	}
	return f.moduleWritten(name, id)
}
