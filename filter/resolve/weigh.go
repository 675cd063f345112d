package resolve

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

var seed = maphash.MakeSeed()

// Weigh compares a stack with the files that its frames are of, as far as no build ID verifies these.
func (s *Proofs) Weigh(ctx context.Context, stack *Stack) {
	if !s.isNew(stack) {
		return
	}
	s.line = stack.line
	w := weighing{proofs: s, source: s.answers.source, ctx: ctx, of: stack.process, sites: stack.innermostFirst(), begins: map[*Module]uint64{}}
	for i := range w.sites {
		at := &w.sites[i]
		if at.asked && at.answer == nil {
			at.answer = s.answers.ask(ctx, at.q)
		}
		if at.asked && at.call == nil {
			at.call = w.source.call(ctx, at)
		}
		if i > 0 && w.sites[i-1].call != nil && w.sites[i-1].call.Trampoline {
			at.called = false
		}
		at.sure = at.called && w.follows(i)
	}
	for i := range w.sites {
		switch {
		case w.link(i):
			w.agree(i, i-1)
		case w.misses(i):
			w.refute(i, "the call before %s is not of the function at %s", w.sites[i].q.place(), w.sites[i-1].q.place())
		}
		w.place(i)
	}
	for i := range w.sites {
		w.position(i)
	}
	for i := range w.sites {
		w.weighed(i)
	}
}

// follows reports whether the frame before frame i, as far as its file is the right one, is none of a signal trampoline.
func (w *weighing) follows(i int) bool {
	at, inner := &w.sites[i], &w.sites[i-1]
	return inner.asked && inner.call != nil && (inner.call.Ends || inner.q.mod == at.q.mod || !inner.answer.byPath())
}

// weighed notes that frame i was weighed with the next inner one.
func (w *weighing) weighed(i int) {
	if p := w.proof(i); p != nil && !w.sites[i].answer.Assumed() {
		w.proofs.room(1)
		if p.pairs == nil {
			p.pairs = map[uint64]bool{}
		}
		p.pairs[pair(w.sites[:i+1])] = true
	}
}

// isNew reports whether a stack with files that no build ID verifies was not weighed before. Weighed again it would say the same.
func (s *Proofs) isNew(stack *Stack) bool {
	var key []byte
	unverified := false
	for i := range stack.sites {
		at := &stack.sites[i]
		if at.asked {
			unverified = unverified || at.answer != nil && at.answer.byPath()
			at.elsewhere = stack.process.proofs.namedAt(at)
		}
		key = at.append(key)
	}
	if !unverified {
		return false
	}
	sum, p := maphash.Bytes(seed, key), stack.process
	s.renew(p)
	if p.proofs.weighed[sum] {
		return false
	}
	if p.proofs.weighed == nil {
		p.proofs.weighed = map[uint64]bool{}
	}
	s.room(1)
	p.proofs.weighed[sum] = true
	return true
}

// weighing compares one stack with the files.
type weighing struct {
	proofs *Proofs
	source *source
	ctx    context.Context
	of     *Process
	sites  []site
	// begins is where modules begin in memory, by frames whose offsets count from functions.
	begins map[*Module]uint64
}

// proof returns the proof that frame i is evidence for, or nil.
func (w *weighing) proof(i int) *proof {
	if i < 0 || !w.sites[i].asked || !w.sites[i].answer.byPath() || w.sites[i].q.mod.BuildID != "" || isKernel(w.sites[i].q.mod) {
		return nil
	}
	return w.proofs.of(w.of, w.sites[i].q.mod)
}

// where returns the place of frame i.
func (w *weighing) where(i int) place {
	q := &w.sites[i].q
	return place{q.off, q.space, q.from}
}

// agree notes that the frames outer and inner agree with their files: a call in one led to the other.
func (w *weighing) agree(outer, inner int) {
	a, b := w.proof(outer), w.proof(inner)
	if a != nil {
		w.proofs.agree(a, w.where(outer), byCall)
	}
	switch {
	case b == nil:
	case a == b:
		w.proofs.prove(b, w.where(inner))
	case w.sites[inner].called || w.sites[inner].call != nil && w.sites[inner].call.Ends:
		w.proofs.agree(b, w.where(inner), byCaller)
	default: // which a file with that function some bytes farther on has, too
		w.proofs.prove(b, w.where(inner))
	}
}

// refute notes what contradicts the file of frame i.
func (w *weighing) refute(i int, format string, args ...any) {
	if at := &w.sites[i]; w.proof(i) != nil && (!at.vague || at.answer.Assumed()) {
		w.proofs.refute(w.of, w.sites[i].q.mod, format, args...)
	}
}

// place compares the place of frame i with the file: there is code, the code before it is a call where the next inner frame was called,
// and a function that the log names is there.
func (w *weighing) place(i int) {
	at := &w.sites[i]
	if w.proof(i) == nil {
		return
	}
	if c := at.call; c != nil {
		switch {
		case !c.Text && (at.kernel || at.pointers && at.called && i == len(w.sites)-1):
			w.proof(i).proven[w.where(i)] = false // it is in another file, or the walk has ended at what is not a frame
		case !c.Text:
			w.refute(i, "no code at %s", at.q.place())
		case c.Trampoline:
			w.proofs.agree(w.proof(i), w.where(i), byCall) // there are only few such instructions
		case at.sure && !c.Ends && !w.returnsUncalled(i):
			w.refute(i, "no call ends at %s", at.q.place())
		case at.called && c.Ends && len(c.Targets) == 0:
			w.proofs.agree(w.proof(i), w.where(i), byPointer)
		}
	}
	switch {
	case at.name != "" && at.q.from != nil:
		w.symbol(i)
		return
	case len(at.answer.Frames) == 0:
		return
	case at.elsewhere != "" && w.source.compare(w.ctx, at.answer, at.elsewhere, 0, false) == contradicts:
		w.refute(i, "no %s at 0x%x", at.elsewhere, at.answer.Offset) // that it agrees would not say that it is the same process
	case at.name == "":
		return
	}
	switch w.source.compare(w.ctx, at.answer, at.name, at.offset, at.has) {
	case contradicts:
		w.refute(i, "no %s at 0x%x", at.name, at.answer.Offset)
	case agrees:
		w.proofs.agree(w.proof(i), w.where(i), byName)
	}
}

// Functions that are returned to, or into, although no call ends there.
const (
	contextEnd = "__start_context"  // its beginning is where the last function of a context of makecontext returns to
	goroutine  = "runtime.goexit"   // behind its first instruction is where the first function of a goroutine returns to
	goFault    = "runtime.sigpanic" // what Go seems to have called at a fault: the address is that of the fault plus one
)

// goQuantum is the most that Go adds to the address of an instruction for that of the next one.
const goQuantum = 4

// returnsUncalled reports whether frame i, whose code is known, is at such a place.
func (w *weighing) returnsUncalled(i int) bool {
	at := &w.sites[i]
	if w.nameAt(at, at.call.Addr) == contextEnd || i > 0 && w.sites[i-1].function() == goFault {
		return true
	}
	start := at.call.Start
	return start != 0 && at.call.Addr-start <= goQuantum && strings.TrimSuffix(w.nameAt(at, start), ".abi0") == goroutine
}

// symbol compares a frame whose offset counts from a function, which the file must have.
func (w *weighing) symbol(i int) {
	at := &w.sites[i]
	if at.call == nil {
		if q := w.named(at, at.q.from.name); len(q) == 0 && len(at.answer.Frames) == 0 && at.answer.Module.Files.Usable() && !at.kernel {
			w.refute(i, "no %s", at.q.from.name)
		}
		return
	}
	if at.addr == 0 {
		if at.call.Ends && at.called {
			w.proofs.agree(w.proof(i), w.where(i), byName)
		}
		return
	}
	// By the function's place in the file, the module begins at a page, and for all frames at the same one.
	begin := at.addr - at.call.Addr
	known, ok := w.begins[at.q.mod]
	switch {
	case begin%pageSize != 0, ok && known != begin:
		w.refute(i, "no %s where 0x%x is", at.q.from.name, at.addr)
	case !ok:
		w.begins[at.q.mod] = begin
	}
	w.proofs.agree(w.proof(i), w.where(i), byName)
}

// pageSize is the least size of a page of memory.
const pageSize = 4 << 10

// named returns the functions of a name in the file of a frame, with the distances of the frame from their beginnings.
func (w *weighing) named(at *site, name string) []symsrc.Frame {
	q := at.q.addr()
	q.Kind, q.Symbol, q.Size = symsrc.Named, name, 0
	return w.source.symbols.Frames(w.ctx, q).Frames
}

// link reports whether the call in frame i is one of the function that frame i-1 lies in.
func (w *weighing) link(i int) bool {
	at := &w.sites[i]
	if !at.asked || at.call == nil || !at.call.Ends {
		return false
	}
	if i == 0 {
		return slices.ContainsFunc(at.call.Targets, func(t symsrc.Target) bool {
			return slices.Contains(unwinders, cmp.Or(t.Symbol, w.nameAt(at, t.Addr)))
		})
	}
	inner := &w.sites[i-1]
	if !at.called {
		return false
	}
	for _, t := range at.call.Targets {
		if w.reaches(at, t, inner, maxJumped) {
			return true
		}
	}
	return slices.Contains(startedBy[strings.TrimPrefix(nameOf(at.answer), "__GI_")], inner.function())
}

// misses reports whether the call in frame i cannot have led to frame i-1, by no chain of jumps in place of last calls.
func (w *weighing) misses(i int) bool {
	if i == 0 || w.proof(i) == nil || w.proof(i) != w.proof(i-1) {
		return false
	}
	at, inner := &w.sites[i], &w.sites[i-1]
	if !at.sure || at.call == nil || inner.call == nil || at.q.from != nil || inner.q.from != nil || len(at.call.Targets) == 0 || inner.call.Start == 0 {
		return false
	}
	if at.hides && !inner.call.Framed || !inner.called && (inner.call.Ends || w.precedes(inner)) {
		return false
	}
	seen := map[uint64]bool{}
	for _, t := range at.call.Targets {
		if !w.elsewhere(at, t, inner, seen) {
			return false
		}
	}
	return true
}

// precedes reports whether the place of a frame may be one before the beginning of a function: an emitter may have moved it.
func (w *weighing) precedes(at *site) bool {
	for back := uint64(1); back <= maxMoved; back++ {
		q := symsrc.Addr{Module: at.q.mod.Module, Kind: symsrc.CallSite, Offset: at.call.Addr + back}
		if c := w.source.symbols.Frames(w.ctx, q).Call; c != nil && c.Start != at.call.Start {
			return true
		}
	}
	return false
}

// maxPassed is how many functions are looked at for the jumps that a call may lead to.
const maxPassed = 64

// elsewhere reports whether what a call or a jump leads to is known, and never the function of the frame inner. seen has the beginnings of
// functions that were looked at.
func (w *weighing) elsewhere(at *site, t symsrc.Target, inner *site, seen map[uint64]bool) bool {
	if t.Symbol != "" {
		named := w.named(at, t.Symbol)
		for _, fn := range named {
			if !w.elsewhere(at, symsrc.Target{Addr: at.call.Addr - fn.Offset}, inner, seen) {
				return false
			}
		}
		return len(named) > 0
	}
	if seen[t.Addr] {
		return true
	}
	if seen[t.Addr] = true; len(seen) > maxPassed || t.Addr == inner.call.Start {
		return false
	}
	q := symsrc.Addr{Module: at.q.mod.Module, Kind: symsrc.CallSite, Offset: t.Addr}
	entry := w.source.symbols.Frames(w.ctx, q).Call
	if entry == nil || !entry.Sealed {
		return false
	}
	if name := inner.function(); name != "" && w.nameAt(at, t.Addr) == name { // the frame is in a part of it
		return false
	}
	for _, jump := range entry.Jumps {
		if !w.elsewhere(at, jump, inner, seen) {
			return false
		}
	}
	return true
}

// unwinders are functions that a program calls for its own stack: the first frame is that of such a call.
var unwinders = []string{"backtrace", "_Unwind_Backtrace", "unw_backtrace", "__sanitizer::StackTrace::GetCurrentPc"}

// startedBy are functions by those that call them by way of a pointer.
var startedBy = map[string][]string{
	"__libc_start_call_main": {"main"},
	"__libc_start_main":      {"main"},
	"__libc_start_main_impl": {"main"},
	"generic_start_main":     {"main"},
	"clone":                  {"start_thread"},
	"__clone":                {"start_thread"},
	"clone3":                 {"start_thread"},
	"__clone3":               {"start_thread"},
}

// entry returns what the code shows of the beginning of a function in the file of a frame.
func (w *weighing) entry(at *site, addr uint64) *symsrc.Call {
	q := symsrc.Addr{Module: at.q.mod.Module, Kind: symsrc.CallSite, Offset: addr}
	if c := w.source.symbols.Frames(w.ctx, q).Call; c != nil && c.Start == addr {
		return c
	}
	return &symsrc.Call{}
}

// maxJumped is how many functions that end in a jump to another one, in place of a call, are passed.
const maxJumped = 3

// reaches reports whether what a call in the frame at leads to, by way of so many jumps at most, is the function that the frame inner
// lies in.
func (w *weighing) reaches(at *site, t symsrc.Target, inner *site, jumps int) bool {
	if t.Symbol != "" {
		return w.covers(inner, t.Symbol)
	}
	if w.beginsAt(at, t.Addr, inner) {
		return true
	}
	if jumps > 0 {
		for _, jump := range w.entry(at, t.Addr).Jumps {
			if w.reaches(at, jump, inner, jumps-1) {
				return true
			}
		}
	}
	return false
}

// beginsAt reports whether an address in the file of the frame at is where the function begins that the frame inner lies in.
func (w *weighing) beginsAt(at *site, addr uint64, inner *site) bool {
	if inner.asked && inner.q.mod == at.q.mod && inner.call != nil && addr == inner.call.Start {
		return true
	}
	if inner.asked && inner.q.mod != at.q.mod {
		return false
	}
	// A part of the function may lie elsewhere in the file, and a frame that the log has named has no place.
	name := inner.function()
	return name != "" && w.nameAt(at, addr) == name
}

// nameAt returns the plain name of the function that begins at an address in the file of a frame, or "".
func (w *weighing) nameAt(at *site, addr uint64) string {
	if w.entry(at, addr).Start != addr {
		return ""
	}
	q := symsrc.Addr{Module: at.q.mod.Module, Kind: symsrc.Code, Offset: addr}
	if frames := w.source.symbols.Frames(w.ctx, q).Frames; len(frames) > 0 {
		return plainName(&frames[len(frames)-1])
	}
	return ""
}

// covers reports whether a frame lies in a function of that name.
func (w *weighing) covers(at *site, name string) bool {
	plain := demangle.PlainName(name)
	if plain == "" {
		return false
	}
	if !at.asked || at.call == nil {
		return at.function() == plain || at.function() == plain+"_impl"
	}
	for _, fn := range w.named(at, name) {
		if fn.Offset <= fn.Size && (fn.Offset > 0 || !at.called) {
			return true
		}
		start := at.q.off - fn.Offset
		if at.q.from != nil || at.q.space != symsrc.Linked || at.call.Start == 0 {
			continue
		}
		if w.reaches(at, symsrc.Target{Addr: start}, at, maxJumped) {
			return true
		}
	}
	// The dynamic linker chooses one of several copies of such functions: `__memmove_avx_unaligned_erms` for memcpy.
	chosen := at.function()
	if chosen == plain+"_impl" { // glibc's __libc_start_main
		return true
	}
	if plain == "memcpy" {
		plain = "mem"
	}
	return strings.HasPrefix(chosen, "__"+plain) && strings.Contains(chosen[len(plain)+2:], "_")
}

// entry is the function that a program begins with, which nothing calls.
const entry = "_start"

// position compares the functions that begin a program with their places in the stack.
func (w *weighing) position(i int) {
	if w.proof(i) == nil || i+1 >= len(w.sites) || !w.sites[i+1].called {
		return
	}
	outer := &w.sites[i+1]
	if !outer.asked || outer.call == nil || !outer.call.Text {
		return
	}
	if p := w.proof(i + 1); p != nil && p != w.proof(i) && p.refuted != "" { // it is the file of the caller that is another one
		return
	}
	switch name, by := w.sites[i].function(), outer.function(); {
	case name == entry:
		w.refute(i, "nothing calls %s at %s", entry, w.sites[i].q.place())
	case strings.HasPrefix(name, "__libc_start_") && by != "" && by != entry && !strings.HasPrefix(by, "__libc_start_"):
		w.refute(i, "%s does not call %s at %s", by, name, w.sites[i].q.place())
	}
}

// function returns the plain name of the function that a frame lies in, as its file has it, or as the log has it if no file is known.
func (at *site) function() string {
	if at.answer != nil && len(at.answer.Frames) > 0 {
		return plainName(&at.answer.Frames[len(at.answer.Frames)-1])
	}
	if at.answer != nil && at.answer.Module.Files != nil && at.answer.Module.Files.Usable() {
		return ""
	}
	return demangle.PlainName(at.name)
}

// plainName returns the plain name of a function.
func plainName(fr *symsrc.Frame) string {
	if fr.Linkage != "" {
		return demangle.PlainName(fr.Linkage)
	}
	return demangle.PlainName(fr.Func)
}

// nameOf returns the name of the function that has an address, into which others may be inlined.
func nameOf(a *Answer) string {
	if len(a.Frames) == 0 {
		return ""
	}
	return plainName(&a.Frames[len(a.Frames)-1])
}
