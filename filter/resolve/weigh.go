package resolve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// Stack is the frames of one stack of the log, innermost first, as far as they were read.
type Stack struct {
	of    *Process
	sites []site
	// line and number are those of the last frame.
	line     int
	number   uint64
	numbered bool
	// interrupted is set if a signal has interrupted the next frame.
	interrupted bool
}

// site is a frame of a stack.
type site struct {
	q      question
	asked  bool // q is a question
	number uint64
	// less is set if the emitter takes 1 from every address, also from that of a signal trampoline.
	less bool
	// pointers is set if the emitter may have followed frame pointers, which not all code sets: such a stack may end with anything.
	pointers bool
	// called is set if the next inner frame was called here, so that the place is one that a call returns to.
	called bool
	// name is the function that the log has, with the offset in it if has is set.
	name   string
	offset uint64
	has    bool
	// addr is the address of the process that the log has, or 0.
	addr uint64
	// answer and call are filled in when the stack is weighed.
	answer *Answer
	call   *symsrc.Call
}

// maxSites bounds the frames of a stack. After that many a new one begins.
const maxSites = 512

// Continues reports whether a frame of a thread on that line may be one of the stack.
func (r *Resolver) Continues(s *Stack, t *Thread, line int, fr *parse.Frame) bool {
	numbered := !fr.Num.Empty()
	switch {
	case s.of != t.Process || len(s.sites) >= maxSites || numbered != s.numbered:
		return false
	case numbered:
		return fr.Number > s.number
	}
	between := maxBetween // lines of other threads
	if t == r.Processes.Unnamed {
		between = 1
	}
	return line-s.line <= between && !s.ended()
}

// ended reports whether the last frame is that of a program's entry, so that the next one is of another stack.
func (s *Stack) ended() bool {
	last := &s.sites[len(s.sites)-1]
	return last.answer != nil && nameOf(last.answer) == entry
}

// Add adds a frame that stands on that line. unproven is set if its name depends on a file that is assumed, and not refuted.
func (r *Resolver) Add(ctx context.Context, s *Stack, t *Thread, line int, text []byte, fr *parse.Frame) (unproven bool) {
	numbered := !fr.Num.Empty()
	last := len(s.sites) - 1
	at := site{number: fr.Number}
	if last >= 0 {
		at.called = !s.interrupted && (!numbered || s.sites[last].number+1 == fr.Number)
	}
	if fr.Done || fr.Shape == frame.NumberOnly {
		at.name = said(text)
	} else {
		at.name, at.offset, at.has = parse.SplitHint(fr.HintText)
	}
	adjustment := probing
	if !at.called {
		adjustment = probingFirst
	}
	at.pointers = fr.Convention == frame.Sanitizers || fr.Convention == frame.Moved
	if at.q, at.asked = r.questionOf(t, text, fr, adjustment); fr.Convention == frame.OneLess {
		at.less = true
	}
	if !fr.Addr.Empty() {
		at.addr, _, _ = scan.Address(fr.Addr.Of(text), 0)
	}
	s.of, s.line, s.number, s.numbered = t.Process, line, fr.Number, numbered
	s.interrupted = namesTrampoline(fr.HintText) || bytes.Contains(text, handlerCalled) || bytes.Contains(fr.ModuleText, vdso)
	if at.asked && at.q.mod.BuildID == "" && !r.opt.Own && (!numbered || r.mayAssume(at.q.mod)) {
		at.answer = r.ask(ctx, at.q)
		unproven = r.Assumed(at.answer) && r.proofOf(t.Process, at.q.mod).refuted == ""
	}
	s.sites = append(s.sites, at)
	return unproven
}

// mayAssume reports whether the file of a module is assumed, as far as it was searched for.
func (r *Resolver) mayAssume(m *Module) bool {
	r.watch(m)
	return m.Files == nil || m.Files.Assumed
}

// said returns the function of a frame that the log names: `#1 0x40 in f(int) /src/f.c:12`, or `#1 0x40 in f (n=1) at f.c:12`.
func said(text []byte) string {
	_, name, ok := bytes.Cut(text, []byte(" in "))
	if !ok {
		return ""
	}
	at := len(name)
	for _, end := range [...]string{" /", " (", " .."} {
		if i := bytes.Index(name[:at], []byte(end)); i >= 0 {
			at = i
		}
	}
	return string(bytes.TrimSpace(name[:at]))
}

// vdso is in the names of the library that the kernel maps, in which signal trampolines are on some machines.
var vdso = []byte("vdso")

// questionOf returns the question of a frame, absolute or not.
func (r *Resolver) questionOf(t *Thread, text []byte, fr *parse.Frame, adjustment Adjustment) (q question, ok bool) {
	if fr.Done || fr.Data || fr.Shape == frame.NumberOnly {
		return q, false
	}
	q, ok, absolute := r.adjusted(t, text, fr, adjustment)
	if !absolute {
		return q, ok
	}
	p := t.Process
	if p.Space.Empty() {
		p = r.substitute(p, q.off)
	}
	q, ok, _ = r.mappedAt(p, q.off, q.kind, q.Adjustment)
	return q, ok
}

// callAt asks for the call at the place of a frame.
func (r *Resolver) callAt(ctx context.Context, at *site) *symsrc.Call {
	a := at.q.asked()
	a.Kind = symsrc.CallSite
	call := r.opt.Symbols.Frames(ctx, a).Call
	if at.less && call != nil && !call.Ends {
		a.Offset++
		if next := r.opt.Symbols.Frames(ctx, a).Call; next != nil && next.Trampoline {
			return next
		}
	}
	return call
}

// Weigh compares a stack with the files that its frames are of, as far as these are assumed.
func (r *Resolver) Weigh(ctx context.Context, s *Stack) {
	if !r.isNew(s) {
		return
	}
	w := weighing{r: r, ctx: ctx, of: s.of, sites: s.sites, begins: map[*Module]uint64{}}
	for i := range s.sites {
		at := &s.sites[i]
		if at.asked && at.answer == nil {
			at.answer = r.ask(ctx, at.q)
		}
		if at.asked && at.call == nil {
			at.call = r.callAt(ctx, at)
		}
		if i > 0 && s.sites[i-1].call != nil && s.sites[i-1].call.Trampoline {
			at.called = false
		}
	}
	for i := range w.sites {
		if w.link(i) {
			w.agree(i, i-1)
		}
		w.position(i)
		w.place(i)
	}
}

// isNew reports whether a stack with assumed files was not weighed before. Weighed again it would say the same.
func (r *Resolver) isNew(s *Stack) bool {
	var key []byte
	assumed := false
	for i := range s.sites {
		at := &s.sites[i]
		if !at.asked {
			key = append(key, 0)
			continue
		}
		assumed = assumed || at.answer != nil && r.Assumed(at.answer)
		key = binary.AppendUvarint(append(key, 1), at.q.mod.number)
		key = binary.AppendUvarint(key, at.q.off)
		if key = append(append(key, at.name...), 0); at.called {
			key = append(key, 1)
		}
	}
	if !assumed {
		return false
	}
	sum, p := maphash.Bytes(seed, key), s.of
	if p.proofs.epoch != r.proven.epoch {
		p.proofs = proofs{epoch: r.proven.epoch}
	}
	if p.proofs.weighed[sum] {
		return false
	}
	if p.proofs.weighed == nil {
		p.proofs.weighed = map[uint64]bool{}
	}
	r.room()
	p.proofs.weighed[sum] = true
	return true
}

// weighing compares one stack with the files.
type weighing struct {
	r     *Resolver
	ctx   context.Context
	of    *Process
	sites []site
	// begins is where modules begin in memory, by frames whose offsets count from functions.
	begins map[*Module]uint64
}

// proof returns the proof that frame i is evidence for, or nil.
func (w *weighing) proof(i int) *proof {
	if i < 0 || !w.sites[i].asked || !w.r.Assumed(w.sites[i].answer) {
		return nil
	}
	return w.r.proofOf(w.of, w.sites[i].q.mod)
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
		w.r.agree(a, w.where(outer), byCall)
	}
	switch {
	case b == nil:
	case a == b:
		w.r.prove(b, w.where(inner))
	case w.sites[inner].called || w.sites[inner].call != nil && w.sites[inner].call.Ends:
		w.r.agree(b, w.where(inner), byCaller)
	default: // which a file with that function some bytes farther on has, too
		w.r.prove(b, w.where(inner))
	}
}

// refute notes what contradicts the file of frame i.
func (w *weighing) refute(i int, format string, args ...any) {
	if p := w.proof(i); p != nil && p.refuted == "" {
		p.refuted = symsrc.Visible(fmt.Sprintf(format, args...))
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
		case !c.Text && at.pointers && at.called && i == len(w.sites)-1:
			w.proof(i).proven[w.where(i)] = false // the walk has ended at what is not a frame
		case !c.Text:
			w.refute(i, "no code at 0x%x", at.q.off)
		case c.Trampoline:
			w.r.agree(w.proof(i), w.where(i), byCall) // there are only few such instructions
		case at.called && !c.Ends && !w.returnsUncalled(at):
			w.refute(i, "no call ends at 0x%x", at.q.off)
		case at.called && c.Ends && len(c.Targets) == 0:
			w.r.agree(w.proof(i), w.where(i), byPointer)
		}
	}
	if at.name == "" {
		return
	}
	if at.q.from != nil {
		w.symbol(i)
		return
	}
	if len(at.answer.Frames) == 0 {
		return
	}
	switch w.r.compare(w.ctx, at.answer, at.name, at.offset, at.has) {
	case contradicts:
		w.refute(i, "no %s at 0x%x", at.name, at.answer.Offset)
	case agrees:
		w.r.agree(w.proof(i), w.where(i), byName)
	}
}

// contextEnd is the function that the last function of a context of makecontext returns to, although it has not called it.
const contextEnd = "__start_context"

// returnsUncalled reports whether a place is the beginning of that function.
func (w *weighing) returnsUncalled(at *site) bool {
	return w.nameAt(at, at.q.off) == contextEnd
}

// symbol compares a frame whose offset counts from a function, which the file must have.
func (w *weighing) symbol(i int) {
	at := &w.sites[i]
	if at.call == nil {
		if q := w.named(at, at.q.from.name); len(q) == 0 && len(at.answer.Frames) == 0 && at.answer.Module.Files.Usable() {
			w.refute(i, "no %s", at.q.from.name)
		}
		return
	}
	if at.addr == 0 {
		if at.call.Ends && at.called {
			w.r.agree(w.proof(i), w.where(i), byName)
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
	w.r.agree(w.proof(i), w.where(i), byName)
}

// pageSize is the least size of a page of memory.
const pageSize = 4 << 10

// named returns the functions of a name in the file of a frame, with the distances of the frame from their beginnings.
func (w *weighing) named(at *site, name string) []symsrc.Frame {
	q := at.q.asked()
	q.Kind, q.Symbol, q.Size = symsrc.Named, name, 0
	return w.r.opt.Symbols.Frames(w.ctx, q).Frames
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
	if c := w.r.opt.Symbols.Frames(w.ctx, q).Call; c != nil && c.Start == addr {
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
	if frames := w.r.opt.Symbols.Frames(w.ctx, q).Frames; len(frames) > 0 {
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
	switch name, by := w.sites[i].function(), outer.function(); {
	case name == entry:
		w.refute(i, "nothing calls %s at 0x%x", entry, w.sites[i].q.off)
	case strings.HasPrefix(name, "__libc_start_") && by != "" && by != entry && !strings.HasPrefix(by, "__libc_start_"):
		w.refute(i, "%s does not call %s at 0x%x", by, name, w.sites[i].q.off)
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
