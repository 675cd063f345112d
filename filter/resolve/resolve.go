package resolve

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"qss-filter/symsrc"
)

// MemoLimit is how many entries each table of the memo has at most, and memoBytes how many bytes of names. A full table is
// emptied: a log repeats its frames within a short time.
const (
	MemoLimit = 1 << 15
	memoBytes = 16 << 20
)

// memo remembers modules and answers.
type memo struct {
	modules map[string]*Module
	written map[string]*Module // by name and build ID as the log writes them
	answers answerMemo
	symbols map[symbol]*symbol
	// bytes is the length of all names of modules, and symbolBytes that of symbols.
	bytes, symbolBytes int
	// absolute has the answers for addresses of processes.
	absolute addressMemo
	// agreed has the outcome of agreeing, and refused that of admitted.
	agreed  map[hinted]*Answer
	refused map[refusal]*Answer
	// nowhere are the frames without a name that belong to no module.
	nowhere []nameless
}

// Module is one binary of the log, with its frames that have no name.
type Module struct {
	symsrc.Module
	number   uint64 // for the hash of questions
	nameless []nameless
	// Files is how the search for its files ended. It is nil before that.
	Files *symsrc.Files
	// Shown is the name as it is written into text.
	Shown string
	// generation counts the changes of the files, and watched is the last piece of input for which they were checked.
	generation, watched uint64
}

// question is an address of a module as the log has it.
type question struct {
	mod        *Module
	off        uint64
	kind       symsrc.Kind
	space      symsrc.Space
	Adjustment Adjustment
	// from is the function that off counts from, or nil.
	from *symbol
}

// symbol is a function that a log names, with its size if the log has that.
type symbol struct {
	name string
	size uint64
}

// symbol returns the symbol of that name and size.
func (r *Resolver) symbol(name []byte, size uint64) *symbol {
	s := symbol{string(name), size}
	p := r.memo.symbols[s]
	if p == nil {
		if r.memo.symbols == nil || len(r.memo.symbols) >= MemoLimit || r.memo.symbolBytes > memoBytes {
			r.memo.symbols, r.memo.symbolBytes = map[symbol]*symbol{}, 0
		}
		r.memo.symbolBytes += len(name)
		p = &s
		r.memo.symbols[s] = p
	}
	return p
}

// asked returns the question for a source.
func (q *question) asked() symsrc.Addr {
	a := symsrc.Addr{Module: q.mod.Module, Offset: q.off, Kind: q.kind, Space: q.space}
	if q.from != nil {
		a.Symbol, a.Size = q.from.name, q.from.size
	}
	return a
}

// address is an absolute address in one state of a process's address space.
type address struct {
	proc       *Process
	generation uint64
	addr       uint64
	kind       symsrc.Kind
	adjustment Adjustment
}

// Answer is a module-relative address with what is known of it.
type Answer struct {
	// Module is nil if no mapping covers the address.
	Module *Module
	// Ambiguous is set if more than one mapping may cover it, since addresses were cut to 32 bits.
	Ambiguous bool
	// running is set if the mappings of running processes were looked at.
	running bool
	// Offset is the place of the code or the variable in the module, and Back how many bytes before the logged address it is.
	Offset, Back uint64
	// Kind is Code or Data.
	Kind symsrc.Kind
	// trampoline is set if the address is that of a signal trampoline.
	trampoline bool
	// adjustment is how the logged address was adjusted, and probed whether there was machine code to look at.
	adjustment Adjustment
	probed     bool
	// Space is what Offset counts from.
	Space symsrc.Space
	// Frames are the functions there, innermost first.
	Frames []symsrc.Frame
	// Printed is what a printer remembers of the answer.
	Printed any
	// Made is symsrc.Answer.Made.
	Made time.Time
	// Elsewhere is the function that the log names there, if the file does not have it there. It is "" otherwise.
	Elsewhere string
	// Unclear says why it is not known which instruction is meant. It is "" otherwise.
	Unclear string
	// Refused is why the file's names are not used, if it may not be the one that ran. It is "" otherwise.
	Refused string
	// files is how the search for the module's files had ended when the question was asked. It is nil if a source does not say.
	files *symsrc.Files
	// retry, if not nil, reports whether asking again may bring more by now.
	retry func() bool
	// generation is that of the module at the time of the question.
	generation uint64
}

// init empties the memo.
func (m *memo) init() {
	m.modules = map[string]*Module{}
	m.written = map[string]*Module{}
	m.bytes = 0
	m.answers, m.absolute, m.agreed, m.refused = answerMemo{}, addressMemo{}, nil, nil
}

// Module returns the module of that name and build ID.
func (r *Resolver) Module(name []byte, id symsrc.BuildID) *Module { return r.Member(name, nil, 0, id) }

// Member returns the module that is a member of an archive, by its name, the place where it begins, or both. The key in the memo
// has the lengths of its parts: a log may put any byte into names and build IDs, and modules must not be confused.
func (r *Resolver) Member(name, member []byte, at uint64, id symsrc.BuildID) *Module {
	key := append(binary.AppendUvarint(r.intern[:0], uint64(len(name))), name...)
	key = append(binary.AppendUvarint(key, uint64(len(id))), id...)
	if len(member) > 0 || at > 0 {
		key = binary.BigEndian.AppendUint64(append(key, member...), at)
	}
	r.intern = key
	m := r.memo.modules[string(key)]
	if m == nil {
		if len(r.memo.modules) >= MemoLimit || r.memo.bytes > memoBytes {
			r.memo.init()
		}
		r.memo.bytes += 2 * len(key)
		kept := string(key)
		_, start := binary.Uvarint(key)
		own := kept[start : start+len(name)] // shared with the key, since a name may be long
		m = &Module{Module: symsrc.Module{Name: own, BuildID: id, Member: string(member), InArchive: at}, number: uint64(len(r.memo.modules)),
			Shown: symsrc.Visible(own)}
		r.memo.modules[kept] = m
	}
	return m
}

// moduleWritten returns the module of a frame. digits are its build ID as written, and may be empty.
func (r *Resolver) moduleWritten(name, digits []byte) *Module {
	key := append(r.intern[:0], name...)
	key = append(append(key, 0), digits...)
	r.intern = key
	if m := r.memo.written[string(key)]; m != nil {
		return m
	}
	written := string(key)
	id, _ := symsrc.ParseBuildID(digits)
	m := r.Module(name, id)
	if len(r.memo.written) >= MemoLimit {
		clear(r.memo.written)
	}
	r.memo.bytes += len(written)
	r.memo.written[written] = m
	return m
}

// ask returns the answer for an address of a module.
func (r *Resolver) ask(ctx context.Context, q question) *Answer {
	if a := r.memo.answers.get(&q); r.IsCurrent(a) {
		return a
	}
	a := r.look(ctx, q)
	r.memo.answers.put(&q, a)
	return a
}

// ResolveAddress returns the answer for an absolute address of a process. Its Module is nil if no mapping covers the address.
func (r *Resolver) ResolveAddress(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, adjustment Adjustment) *Answer {
	return r.admitted(p, r.address(ctx, p, addr, kind, adjustment), nil)
}

// address is the same, whether or not the files are verified.
func (r *Resolver) address(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, adjustment Adjustment) *Answer {
	if p.Space.Empty() {
		p = r.substitute(p, addr)
	}
	q := address{p, p.Space.Generation(), addr, kind, adjustment}
	if a := r.memo.absolute.get(q); r.IsCurrent(a) {
		return a
	}
	a := r.lookAbsolute(ctx, p, addr, kind, adjustment)
	r.memo.absolute.put(q, a)
	return a
}

// lookAbsolute finds the mapping of an address, and asks for what is mapped there.
func (r *Resolver) lookAbsolute(ctx context.Context, p *Process, addr uint64, kind symsrc.Kind, adjustment Adjustment) *Answer {
	q, ok, several := r.mappedAt(p, addr, kind, adjustment)
	if !ok {
		return &Answer{Ambiguous: several, running: r.opt.Maps != nil && p.Space.Empty(), adjustment: adjustment, Back: adjustment.back(symsrc.Probe{})}
	}
	return r.ask(ctx, q)
}

// mappedAt returns the question of an absolute address of a process. For a return address the mapping of the call before it
// counts, since the call may end its mapping. ok is false if no mapping covers the address, or if several may.
func (r *Resolver) mappedAt(p *Process, addr uint64, kind symsrc.Kind, adjustment Adjustment) (q question, ok, several bool) {
	near := addr
	if adjustment.before() {
		near--
	}
	at, ok := p.Space.Resolve(near)
	if p.Space.Cut() {
		at, near, several = p.Space.ResolveCut(near, kind == symsrc.Code)
		ok = at != nil
	}
	if !ok {
		return q, false, several
	}
	m := r.Module([]byte(at.Module.Name), symsrc.BuildID(at.Module.BuildID))
	if at.Module.Written != "" {
		m.Shown = symsrc.Visible(at.Module.Written)
	}
	off := at.ModuleAddr(near)
	if adjustment.before() {
		off++
	}
	return question{mod: m, off: off, kind: kind, space: at.Space, Adjustment: adjustment}, true, false
}

// look asks the source.
func (r *Resolver) look(ctx context.Context, q question) *Answer {
	r.watch(q.mod)
	got := r.seek(ctx, q)
	a := &Answer{Module: q.mod, Kind: q.kind, Offset: got.addr.Offset, Back: got.back, trampoline: got.probe.Trampoline, Frames: got.Frames,
		adjustment: q.Adjustment, probed: got.probe.Known, Space: got.addr.Space, Made: got.Made, Unclear: got.unclear,
		generation: q.mod.generation}
	if got.Files != nil {
		a.files, a.retry = q.mod.found(got.Files), got.Files.Retry
	}
	empty := func(fr symsrc.Frame) bool { return fr.Func == "" && fr.File == "" }
	if slices.ContainsFunc(a.Frames, empty) { // these say nothing
		a.Frames = slices.DeleteFunc(slices.Clone(a.Frames), empty)
	}
	return a
}

// found notes how a search for the module's files has ended, and returns that.
func (m *Module) found(files *symsrc.Files) *symsrc.Files {
	old := m.Files
	switch {
	case old == files, old != nil && old.Watch == files.Watch && old.Same(files):
		return old // answers keep it in memory
	case old != nil && old.Watch != nil && files.Watch == nil:
		return files // of an answer that was kept, which says what there was
	}
	m.Files = files
	return files
}

// A file that was found by its path alone may be replaced by another build's while the filter runs: a program is compiled again
// and started again. Its answers, also those of a missing file, are stale after that. The file is checked at most once for each
// piece of input, before the first frame of its module in it.

// IsCurrent reports whether a is an answer that is not stale.
func (r *Resolver) IsCurrent(a *Answer) bool {
	if a == nil || a.retry != nil && a.retry() {
		return false
	}
	if a.Module == nil {
		return true
	}
	r.watch(a.Module)
	return a.generation == a.Module.generation
}

// watch checks whether the files of a module are still those that were found.
func (r *Resolver) watch(m *Module) {
	if m.watched == r.piece {
		return
	}
	m.watched = r.piece
	if files := m.Files; files != nil && (files.Unverified || !files.Usable()) && files.Watch.Look() {
		m.generation++
	}
}
