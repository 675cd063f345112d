package resolve

import (
	"bytes"
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// ResolveFrame returns the answer for a frame on a line. It is nil if there is nothing to ask.
func (r *Resolver) ResolveFrame(ctx context.Context, t *Thread, line int, text []byte, fr *parse.Frame) *Answer {
	r.prefetch.line = line
	named := namesTrampoline(fr.HintText)
	defer t.run(line, fr)
	if fr.Done || fr.Shape == frame.NumberOnly {
		// Frames without a module are looked at only if the output shows them. They must not change anything.
		t.trampoline = named || fr.Shape == frame.NumberOnly && t.trampoline
		r.Count(fr, nil)
		return nil
	}
	t.renew()
	first, above := t.first(line, fr), t.above
	if first {
		above = nothingKnown
	}
	q, ok, absolute := r.question(t, line, text, fr)
	var a *Answer
	switch {
	case absolute:
		a = r.agreeing(ctx, r.ResolveAddress(ctx, t.Process, q.off, q.kind, q.Adjustment), fr)
	case q.from != nil: // the name itself is what was asked
		a = r.admitted(t.Process, r.ask(ctx, q), q.from)
	case ok:
		a = r.agreeing(ctx, r.admitted(t.Process, r.ask(ctx, q), nil), fr)
		r.Asked = Asked{q, a, fr.Convention, fr.Counts && fr.Shape == frame.Numbered && fr.Base == frame.InModule && fr.Space == symsrc.Linked && len(fr.BuildIDText) > 0 && len(fr.MemberText) == 0 && !named}
	default:
		t.trampoline, t.above = named, nothingKnown
		r.Count(fr, nil)
		return nil
	}
	if absolute && a.Module != nil && t.Space.Listed() {
		t.used = t.Space.Generation()
	}
	r.Count(fr, a)
	t.Answered(line, a)
	t.trampoline = t.trampoline || named
	// strace names the symbol before an address, whatever its size.
	above.note(a, fr.Convention != frame.Strace && isNamed(fr.HintText), first && skipsHandler(fr))
	t.above = above
	return a
}

// skipsHandler reports whether the emitter of a frame leaves out those of its own signal handler, so that the trampoline comes first.
func skipsHandler(fr *parse.Frame) bool {
	return fr.Convention == frame.Raw && fr.Base == frame.Absolute && fr.Num.Empty()
}

// first reports whether a frame on that line is the first one of its stack.
func (t *Thread) first(line int, fr *parse.Frame) bool {
	switch fr.Run {
	case frame.Adjacent:
		return line-t.Stack.Line > 1 || t.Stack.Line == 0 || t.Stack.top && !ofKernel(fr)
	case frame.Announced:
		if t.Emitter.native {
			return !t.Emitter.inNative
		}
	}
	return t.Stack.First(line, !fr.Num.Empty(), fr.Number)
}

// ofKernel reports whether a frame of perf is one of the kernel, which has the function's name and no offset in a file.
func ofKernel(fr *parse.Frame) bool {
	return fr.Base == frame.FromSymbol && fr.Convention != frame.Strace
}

// convention returns the convention of a frame. The first one of a stack with a headline is exact if the log says that there was a signal.
// Otherwise nothing is said of it.
func (t *Thread) convention(fr *parse.Frame, first bool) frame.Convention {
	if fr.Run == frame.Announced && fr.Convention == frame.RawButFirst && first && !(t.Emitter.native && t.Emitter.signaled) {
		return frame.Unsaid
	}
	if fr.Convention == frame.Strace && fr.Base == frame.FromSymbol {
		return frame.RawButFirst // it counts neither in the file nor in the module
	}
	return fr.Convention
}

// run notes a frame of a format in which the frames of a stack follow each other without numbers.
func (t *Thread) run(line int, fr *parse.Frame) {
	switch fr.Run {
	case frame.Adjacent:
		top := ofKernel(fr) // after the kernel's frames comes what was interrupted
		if fr.Shape == frame.NumberOnly && fr.Done {
			top = t.first(line, fr) // an inlined function is at the address of the next frame
		}
		t.Stack.Line, t.Stack.top = line, top
	case frame.Announced:
		if fr.Convention != frame.Exact {
			t.Emitter.inNative, t.Emitter.signaled = t.Emitter.native, false
		}
	}
}

// question returns the question of a frame. If absolute is set, off is an address of the process. ok is false if there is nothing
// to ask of a module: none is named, or no mapping covers the address.
func (r *Resolver) question(t *Thread, line int, text []byte, fr *parse.Frame) (q question, ok, absolute bool) {
	first := t.first(line, fr)
	return r.adjusted(t, text, fr, r.AdjustText(t, t.convention(fr, first), first))
}

// adjusted is the same for an adjustment.
func (r *Resolver) adjusted(t *Thread, text []byte, fr *parse.Frame, adjustment Adjustment) (q question, ok, absolute bool) {
	kind := symsrc.Code
	if fr.Data {
		kind = symsrc.Data
	}
	if addr, ok := r.absoluteAddress(t, text, fr); ok {
		return question{off: addr, kind: kind, Adjustment: adjustment}, false, true
	}
	m := r.moduleOf(t, fr)
	if m == nil {
		return q, false, false
	}
	q = question{mod: m, off: fr.Offset, kind: kind, space: fr.Space, Adjustment: adjustment}
	if fr.Base == frame.FromSymbol {
		q.from = r.symbol(fr.SymbolText, fr.Size)
	}
	return q, true, false
}

// absoluteAddress returns the address of a frame that must be looked up in the process's mappings: the frame names no module, or
// its offset counts from where the emitter assumed the module to begin and a list of mappings is more exact.
func (r *Resolver) absoluteAddress(t *Thread, text []byte, fr *parse.Frame) (addr uint64, ok bool) {
	if fr.Base == frame.Absolute {
		return fr.Offset, true
	}
	if (fr.Space == symsrc.InImage || fr.Space == symsrc.InText) && !fr.Addr.Empty() && t.Space.Listed() {
		addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
		_, ok = t.Space.Resolve(addr)
	}
	return addr, ok
}

// Names of modules that frames leave out. Frames of Dart and Flutter are of the program's only library. Frames of the kernel
// without a module are of the kernel itself.
var (
	dartLibrary = []byte("libapp.so")
	kernel      = []byte("vmlinux")
	kernelFile  = []byte(".ko")
)

// moduleOf returns the module of a frame that names one, or whose emitter has only one. A build ID that the log states elsewhere
// counts for a frame without one.
func (r *Resolver) moduleOf(t *Thread, fr *parse.Frame) *Module {
	name, id := fr.ModuleText, fr.BuildIDText
	switch {
	case fr.Base == frame.FromSymbol && fr.Size > 0:
		if len(name) == 0 {
			name = kernel
		} else if bytes.IndexByte(name, '.') < 0 {
			name = append(bytes.Clone(name), kernelFile...)
		}
	case len(name) == 0 && len(id) == 0 && len(t.dart) > 0:
		return r.Module(dartLibrary, t.dart)
	case len(name) == 0 && len(id) == 0:
		return nil
	case len(fr.MemberText) > 0 || fr.InArchive > 0:
		known, _ := symsrc.ParseBuildID(id)
		return r.Member(name, fr.MemberText, fr.InArchive, known)
	}
	if len(id) == 0 && len(t.buildIDs) > 0 {
		if known, ok := t.buildIDs[string(name[bytes.LastIndexByte(name, '/')+1:])]; ok {
			return r.Module(name, known)
		}
	}
	return r.moduleWritten(name, id)
}

// Asked is the question of the frame that was looked up last in a module, with its answer.
type Asked struct {
	question
	Answer     *Answer
	Convention frame.Convention
	// Plain is set if the frame's number counts, and its name and build ID alone decided on the module.
	Plain bool
}
