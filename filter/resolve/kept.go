package resolve

// Kept is an answer whose output is kept, with what decides whether it still holds. Those who ask that of thousands of frames, one after the
// other, need not look at the answers: these are not in a processor's cache by then.
type Kept struct {
	answer *Answer
	module *Module
	// state is that of the module at the time of the query.
	state uint64
	// unverified is Answer.Unverified.
	unverified bool
	// plain is set if the answer has names, is of no signal trampoline, and holds for as long as the module's state is the same.
	plain bool
	// inserted is how many lines its functions take besides the first.
	inserted uint32
}

// Keep returns an answer as one that is kept.
func Keep(a *Answer) Kept {
	return Kept{answer: a, module: a.Module, state: a.state(), unverified: a.Unverified(), inserted: uint32(max(0, len(a.Frames)-1)),
		plain: a.Module != nil && a.retry == nil && len(a.Frames) > 0 && !a.trampoline}
}

// state is that of the module at the time of the query: neither of the counts ever decreases.
func (a *Answer) state() uint64 { return a.generation + a.refutations }

// Answer returns the answer.
func (k *Kept) Answer() *Answer { return k.answer }

// Inserted returns how many lines the answer's functions take besides the first.
func (k *Kept) Inserted() int { return int(k.inserted) }

// Holds reports whether a kept answer is not stale, and whether its files are as much verified as they were.
func (r *Resolver) Holds(k *Kept) bool {
	if !k.plain {
		return r.memo.isCurrent(k.answer) && k.unverified == k.answer.Unverified()
	}
	m := k.module
	r.memo.watch(m)
	return k.state == m.generation+m.refutations && k.unverified == m.unverified()
}

// Again is Numbered for a frame whose answer is kept.
func (t *Thread) Again(line int, number uint64, k *Kept) {
	if !k.plain || t.Emitter.headline != noHeadline {
		t.Numbered(line, number, k.answer)
		return
	}
	t.number(line, number, k.answer, true)
	t.Stack.Line, t.trampoline, t.reduced, t.above = line, false, false, namedFrame
}
