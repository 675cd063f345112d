package filter

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"qss-filter/symsrc"
)

// memoLimit bounds each of the memo's tables, memoBytes the names in them. A full one is emptied: a log repeats its frames
// within a short time.
const (
	memoLimit = 1 << 15
	memoBytes = 16 << 20
)

// memo remembers modules and answers, with their finished text.
type memo struct {
	modules map[string]*module
	written map[string]*module // by name and build ID as the log writes them
	answers answerMemo
	symbols map[symbol]*symbol
	// bytes are those of the names of modules, and symbolBytes those of symbols.
	bytes, symbolBytes int
	// absolute holds the answers for addresses of a process.
	absolute absoluteMemo
	// agreed holds what became of answers that stand against a name of the log.
	agreed map[agreement]*answer
	// forgotten counts the frames of modules that are not in modules any more.
	forgotten Tally
}

// module is one binary of the log, and what became of its frames.
type module struct {
	symsrc.Module
	number     uint64 // tells the modules of a filter apart
	frames     int
	unresolved int
	// forgotten counts the frames from then on when the module is not in the memo any more; nil before.
	forgotten *Tally
	files     *symsrc.Files
	// shown is the name as it is written into text.
	shown string
	// elsewhere is a function that the file does not have where the log does, "" for none.
	elsewhere string
	// generation counts the changes of the files that were seen, and watched is the piece of input for which they were last
	// looked for.
	generation, watched uint64
}

// question is an address of a module as the log has it.
type question struct {
	mod   *module
	off   uint64
	kind  symsrc.Kind
	space symsrc.Space
	take  taking
	// from is the function that off counts from, nil for none.
	from *symbol
}

// symbol is a function that a log names, with its size where the log has that.
type symbol struct {
	name string
	size uint64
}

// symbol returns the one of that name and size.
func (f *Filter) symbol(name []byte, size uint64) *symbol {
	s := symbol{string(name), size}
	p := f.memo.symbols[s]
	if p == nil {
		if f.memo.symbols == nil || len(f.memo.symbols) >= memoLimit || f.memo.symbolBytes > memoBytes {
			f.memo.symbols, f.memo.symbolBytes = map[symbol]*symbol{}, 0
		}
		f.memo.symbolBytes += len(name)
		p = &s
		f.memo.symbols[s] = p
	}
	return p
}

// asked is the question as a source takes it.
func (q *question) asked() symsrc.Addr {
	a := symsrc.Addr{Module: q.mod.Module, Offset: q.off, Kind: q.kind, Space: q.space}
	if q.from != nil {
		a.Symbol, a.Size = q.from.name, q.from.size
	}
	return a
}

// absoluteQuestion is an absolute address in one state of a process's address space.
type absoluteQuestion struct {
	proc       *process
	generation uint64
	addr       uint64
	kind       symsrc.Kind
	take       taking
}

// answer is a module-relative address with what is known of it.
type answer struct {
	// mod is nil where no mapping covers the address.
	mod *module
	// several is set where more than one may, since addresses were cut to 32 bits.
	several bool
	// running is set where the mappings of running processes were looked at.
	running bool
	// off is where in the module the code or the variable lies, and back how far before the logged address.
	off  uint64
	back uint64
	kind symsrc.Kind
	// trampoline is set where the address is that of a signal trampoline.
	trampoline bool
	// take is how the logged address was taken, probed whether there was machine code to look at, and space what off counts from.
	take   taking
	probed bool
	space  symsrc.Space
	// known is what the source says, innermost first, and frames the same as it is written.
	known, frames []symsrc.Frame
	// links begin the hyperlink of each frame, where links are written.
	links []string
	// excerpts are the source code of each frame, as far as it was asked for.
	excerpts []*symsrc.Excerpt
	// made is what symsrc.Answer.Made is.
	made time.Time
	// elsewhere is the function that the log names there, where the file does not have it there; "" where it may.
	elsewhere string
	// retry, if not nil, tells whether asking again may bring more by now.
	retry func() bool
	// generation is that of the module when it was asked.
	generation uint64
	// places holds the text `func file:line:col` of each frame, in colour where the filter writes colours.
	places [][]byte
	place  [1][]byte // where that is one
}

func (m *memo) init() {
	m.modules = map[string]*module{}
	m.written = map[string]*module{}
	m.bytes = 0
	m.answers, m.absolute, m.agreed = answerMemo{}, absoluteMemo{}, nil
}

// forget empties the memo. The frames of its modules still count.
func (m *memo) forget() {
	for _, old := range m.modules {
		m.forgotten.add(old)
		old.forgotten = &m.forgotten
	}
	m.init()
}

// module returns the module of that name and build ID; id is raw bytes.
func (f *Filter) module(name []byte, id symsrc.BuildID) *module { return f.member(name, nil, 0, id) }

// member returns the module that is a member of an archive, by its name, the place where it begins, or both. Its key has the
// lengths of its parts: a log may put any byte into names and build IDs, and one module must not be taken for another.
func (f *Filter) member(name, member []byte, at uint64, id symsrc.BuildID) *module {
	key := append(binary.AppendUvarint(f.intern[:0], uint64(len(name))), name...)
	key = append(binary.AppendUvarint(key, uint64(len(id))), id...)
	if len(member) > 0 || at > 0 {
		key = binary.BigEndian.AppendUint64(append(key, member...), at)
	}
	f.intern = key
	m := f.memo.modules[string(key)]
	if m == nil {
		if len(f.memo.modules) >= memoLimit || f.memo.bytes > memoBytes {
			f.memo.forget()
		}
		f.memo.bytes += 2 * len(key)
		kept := string(key)
		_, start := binary.Uvarint(key)
		own := kept[start : start+len(name)] // a name may be long
		m = &module{Module: symsrc.Module{Name: own, BuildID: id, Member: string(member), InArchive: at}, number: uint64(len(f.memo.modules)),
			shown: symsrc.Visible(own)}
		f.memo.modules[kept] = m
	}
	return m
}

// moduleWritten returns the module of a frame; digits are its build ID as written, perhaps none.
func (f *Filter) moduleWritten(name, digits []byte) *module {
	key := append(f.intern[:0], name...)
	key = append(append(key, 0), digits...)
	f.intern = key
	if m := f.memo.written[string(key)]; m != nil {
		return m
	}
	written := string(key)
	id, _ := symsrc.ParseBuildID(digits)
	m := f.module(name, id)
	if len(f.memo.written) >= memoLimit {
		clear(f.memo.written)
	}
	f.memo.bytes += len(written)
	f.memo.written[written] = m
	return m
}

// ask returns the answer for an address of a module.
func (f *Filter) ask(ctx context.Context, q question) *answer {
	if a := f.memo.answers.get(&q); f.stands(a) {
		return a
	}
	a := f.look(ctx, q)
	f.memo.answers.put(&q, a)
	return a
}

// askAbsolute returns the answer for an absolute address of a process. Its mod is nil where no mapping covers it.
func (f *Filter) askAbsolute(ctx context.Context, p *process, addr uint64, kind symsrc.Kind, take taking) *answer {
	if p.space.Empty() {
		p = f.standIn(p, addr)
	}
	q := absoluteQuestion{p, p.space.Generation(), addr, kind, take}
	if a := f.memo.absolute.get(q); f.stands(a) {
		return a
	}
	a := f.lookAbsolute(ctx, p, addr, kind, take)
	f.memo.absolute.put(q, a)
	return a
}

// lookAbsolute finds the mapping of an address, and asks of what is mapped there.
func (f *Filter) lookAbsolute(ctx context.Context, p *process, addr uint64, kind symsrc.Kind, take taking) *answer {
	q, ok, several := f.mappedAt(p, addr, kind, take)
	if !ok {
		return &answer{several: several, running: f.opt.Maps != nil && p.space.Empty(), take: take, back: take.back(symsrc.Probe{})}
	}
	return f.ask(ctx, q)
}

// mappedAt returns the question that an absolute address of a process is. Of a return address the mapping of the call before it
// counts, which may be the last thing mapped. ok is false where no mapping covers the address, or several may.
func (f *Filter) mappedAt(p *process, addr uint64, kind symsrc.Kind, take taking) (q question, ok, several bool) {
	near := addr
	if take.before() {
		near--
	}
	at, ok := p.space.Resolve(near)
	if p.space.Cut() {
		at, near, several = p.space.ResolveCut(near, kind == symsrc.Code)
		ok = at != nil
	}
	if !ok {
		return q, false, several
	}
	m := f.module([]byte(at.Module.Name), symsrc.BuildID(at.Module.BuildID))
	if at.Module.Written != "" {
		m.shown = symsrc.Visible(at.Module.Written)
	}
	off := at.ModuleAddr(near)
	if take.before() {
		off++
	}
	return question{mod: m, off: off, kind: kind, space: at.Space, take: take}, true, false
}

// look asks the source and prepares the text of its answer.
func (f *Filter) look(ctx context.Context, q question) *answer {
	f.watch(q.mod)
	got := f.seek(ctx, q)
	a := &answer{mod: q.mod, kind: q.kind, off: got.addr.Offset, back: got.back, trampoline: got.probe.Trampoline, known: got.Frames,
		take: q.take, probed: got.probe.Known, space: q.space, made: got.Made,
		generation: q.mod.generation}
	if got.Files != nil {
		q.mod.files, a.retry = got.Files, got.Files.Retry
	}
	f.finish(a)
	return a
}

// finish prepares the text of an answer. Frames that know nothing are dropped: they would say nothing.
func (f *Filter) finish(a *answer) {
	empty := func(fr symsrc.Frame) bool { return fr.Func == "" && fr.File == "" }
	if slices.ContainsFunc(a.known, empty) {
		a.known = slices.DeleteFunc(slices.Clone(a.known), empty)
	}
	if a.frames = f.opt.Names.inWords(a.known); len(a.frames) == 0 {
		return
	}
	f.link(a)
	// The memo is for places where the log has no colour of its own.
	restore, quoted := f.colour, f.quoted
	f.colour, f.quoted = ink{}, false
	text := f.placeText[:0]
	ends := f.placeEnds[:0]
	for i := range a.frames {
		if a.kind == symsrc.Data {
			text = f.appendVariable(text, a, i)
		} else {
			text = f.appendPlace(text, a, i)
		}
		ends = append(ends, len(text))
	}
	f.placeText, f.placeEnds = text, ends
	f.colour, f.quoted = restore, quoted
	kept := bytes.Clone(text)
	if a.places = a.place[:]; len(ends) > 1 {
		a.places = make([][]byte, len(ends))
	}
	start := 0
	for i, end := range ends {
		a.places[i] = kept[start:end:end]
		start = end
	}
}
