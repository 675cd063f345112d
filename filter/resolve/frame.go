package resolve

import (
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// ResolveFrame returns the answer for a frame on a line. It is nil if there is nothing to ask.
func (r *Resolver) ResolveFrame(ctx context.Context, t *Thread, line int, text []byte, fr *parse.Frame) *Answer {
	r.Prefetch.line, r.Proofs.line = line, line
	if fr.Space == symsrc.InScript && r.answers.source.script(ctx, r.queries.module(t, fr)) == nil {
		fr.Done = true // it says all that is known
	}
	named := namesTrampoline(fr.HintText)
	defer t.run(line, fr)
	if fr.Done || fr.Shape == frame.NumberOnly {
		if !fr.Num.Empty() && fr.Number == 0 {
			t.forget()
		}
		// Frames without a module are looked at only if the output shows them. They must not change anything.
		t.trampoline = named || fr.Shape == frame.NumberOnly && t.trampoline
		r.Counts.Count(fr, nil)
		return nil
	}
	first := t.first(line, fr)
	t.next(r.Processes, line, first, fr)
	above := t.above
	q, ok, absolute := r.queries.of(t, line, text, fr)
	if fr.Machines != 0 {
		t.noteBoard(fr)
	}
	if ok {
		q = r.answers.placed(ctx, q, fr)
	}
	var a *Answer
	switch {
	case absolute:
		a = r.agreed(ctx, t.Process, r.answers.address(ctx, t.Process, q.off, q.kind, q.Rule), text, fr)
	case q.from != nil: // the name itself is what was asked
		a = r.lines.mark(r.Proofs.admitted(t.Process, r.answers.ask(ctx, q), q.from))
	case ok && q.space == symsrc.InScript:
		a = r.lines.mark(r.answers.calledSo(r.answers.ask(ctx, q), fr.HintText))
	case ok && q.pointed:
		a = r.summed(t, r.answers.ask(ctx, q))
	case ok && !r.answers.holds(ctx, q):
		a = r.answers.address(ctx, t.Process, q.off, q.kind, q.Rule)
	case ok:
		if a = r.agreed(ctx, t.Process, r.answers.ask(ctx, q), text, fr); fr.Beside && a.Elsewhere != "" { // it is of no module beside it
			a = r.answers.address(ctx, t.Process, fr.Offset, q.kind, q.Rule)
		}
		r.Asked = Asked{q, a, fr.Convention, fr.Counts && fr.Shape == frame.Numbered && fr.Base == frame.InModule && fr.Space == symsrc.Linked && (len(fr.BuildIDText) > 0 || !t.KnowsBuildIDs()) && len(fr.MemberText) == 0 && !named}
	default:
		t.trampoline, t.above = named, nothingKnown
		r.Counts.Count(fr, nil)
		return nil
	}
	if absolute && a.Module != nil && t.Space.Listed() {
		t.used = t.Space.Generation()
	}
	r.Counts.Count(fr, a)
	if fr.Num.Empty() {
		t.Answered(line, a)
	} else {
		t.Numbered(line, fr.Number, a)
	}
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
	if fr.Above {
		return t.begun.first
	}
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

// agreed returns the answer for a frame of a process, without names if the log contradicts it or nothing proves its file.
func (r *Resolver) agreed(ctx context.Context, p *Process, a *Answer, text []byte, fr *parse.Frame) *Answer {
	agreed := r.answers.agreeing(ctx, a, text, fr)
	if agreed.refuting && a.Module.BuildID == "" {
		r.Proofs.refute(p, a.Module, "no %s at 0x%x", agreed.Elsewhere, a.Offset)
	}
	if m := a.Module; m != nil && m.BuildID != "" && a.Outcome() == Outcome(symsrc.MismatchBuildID) { // a frame without the ID has the same file
		r.Proofs.refute(p, r.memo.module([]byte(m.Name), ""), "the log has build ID %s", m.BuildID.Text())
	}
	return r.lines.mark(r.Proofs.admitted(p, agreed, nil))
}

// ResolveAddress returns the answer for an absolute address of a process. Its Module is nil if no mapping covers the address.
func (r *Resolver) ResolveAddress(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, rule Rule) *Answer {
	return r.lines.mark(r.Proofs.admitted(p, r.answers.address(ctx, p, addr, kind, rule), nil))
}

// KnowsBuildIDs reports whether the log states build IDs of the thread's modules apart from its frames.
func (t *Thread) KnowsBuildIDs() bool { return len(t.buildIDs) > 0 || len(t.dart) > 0 }

// Asked is the query of the frame that was looked up last in a module, with its answer.
type Asked struct {
	query
	Answer     *Answer
	Convention frame.Convention
	// Plain is set if the frame's number counts, and nothing but its name and build ID decided on the module.
	Plain bool
}
