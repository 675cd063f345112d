// Package object symbolizes addresses of ELF files: it implements symsrc.Source on top of packages elf, dwarf, codeprobe and gopclntab.
// It opens files, keeps them open while they are used, detects changes on disk, and limits their cost.
//
//   - object.go: Source, how a query finds its module, what is at an address, and the differences of llvm-symbolizer;
//     registry.go: the modules of a Source, by their names
//   - module.go: the files of a module: how they are opened, checked, closed, and refused if they cost too much
//   - deadline.go: the time limit of queries
//   - file.go: File, one ELF file with everything that is read with it; runtime.go: the runtime object of a debug file
//   - objects.go: the objects that a Mach-O program was linked from, if these have its debug information
//   - dependencies.go: the files that the debug information refers to, and the origin of a file's bytes
//   - address.go: the address of a query; symbols.go: the symbol tables of a file
//   - probe.go: what the code around an address shows, and the call that ends at an address
//   - walk.go: iteration over all code of a file, and over its call frame information
//   - detail.go: what else the debug information has of functions and variables
//   - prefetch.go: sections that are unpacked in advance; index.go: indexes on disk, for the next process
//
// A file that exceeds its budget is CORRUPTED from then on. Files may also be overwritten while they are mapped. Only File, which owns
// the mapped bytes, recovers from panics and memory faults.
package object

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/gopclntab"
)

// policy selects the behavior of a Source where readers of object files differ. It is set before the first query.
type policy struct {
	elf   elf.Rules
	dwarf dwarf.Rules
	// literalAddresses uses addresses unchanged: pointer tags are not removed, and offsets in relocatable files are not converted.
	literalAddresses bool
	// symbolsOnly uses only the symbol tables for code outside of the debug information.
	symbolsOnly bool
	// allowMismatch uses an executable and its debug file together although their build IDs differ, if the query has no build ID.
	allowMismatch bool
	// literalPaths looks for the files that debug information refers to only at the paths in it, and does not read the supplementary
	// file.
	literalPaths bool
}

// defaultPolicy avoids all symbols that may be wrong.
var defaultPolicy policy

// llvmPolicy is the behavior of llvm-symbolizer.
var llvmPolicy = policy{
	elf:              elf.Rules{CodeAtZero: true, SectionRelative: true, Unbounded: true, SkipZdebug: true},
	dwarf:            dwarf.Rules{Overlaps: true, ReportEntries: true, PlacedLines: true, PackageOnly: true},
	literalAddresses: true,
	symbolsOnly:      true,
	allowMismatch:    true,
	literalPaths:     true,
}

// Limits of a Source: the memory for data read from files, in bytes, unless UseMemory sets another limit; the number of modules with
// open files, each of which needs a few of the process's mappings; and the number of modules.
const (
	DefaultMemory = 256 << 20
	maxOpen       = 1 << 13
	maxModules    = 1 << 14
)

// fileWeight is the memory of an open file before the first query, in bytes.
const fileWeight = 8 << 10

// Source answers queries from ELF files on disk. It caches the modules, and keeps their files open while the data read from them fits
// in its memory.
type Source struct {
	finder symsrc.Finder
	policy *policy
	dwp    string // see UsePackage

	wait  time.Duration // see deadline
	after func(time.Duration) *time.Timer
	warn  func(message string)

	memory  int64        // see UseMemory
	inUse   atomic.Int64 // memory of all open files, in bytes
	refused refusals
	indexes *indexes
	registry
}

// NewSource returns a Source for the files that f finds.
func NewSource(f symsrc.Finder) *Source {
	s := &Source{finder: f, policy: &defaultPolicy, memory: DefaultMemory, wait: maxWait, after: time.NewTimer}
	s.registry = registry{of: s, modules: make(map[symsrc.Module]*module), aliases: make(map[symsrc.Module]*alias),
		shared: make(map[sharedFiles]*module), open: make(map[*module]bool)}
	return s
}

// NewLLVMSource returns a Source with the answers of llvm-symbolizer, which may name the wrong symbol: a symbol without a size extends
// to the next symbol, also beyond its section, and the last one has no end.
func NewLLVMSource(f symsrc.Finder) *Source {
	s := NewSource(f)
	s.policy = &llvmPolicy
	return s
}

// SkipLineZero replaces line 0 with the last line before it in the line table, also of another function, like llvm-symbolizer's
// --skip-line-zero. Call it before the first query, on a Source from NewLLVMSource.
func (s *Source) SkipLineZero() {
	policy := *s.policy
	policy.dwarf.SkipLineZero = true
	s.policy = &policy
}

// UseMemory sets the memory for data read from files, in bytes, in place of DefaultMemory. Modules that are in use may exceed it. Call it
// before the first query.
func (s *Source) UseMemory(bytes int64) { s.memory = bytes }

// Warn makes the source call warn once for each module that exceeds the time limit of queries. Call it before the first query.
func (s *Source) Warn(warn func(message string)) { s.warn = warn }

// UsePackage makes the source look for the split units of every module in the package at path (a .dwp file) in place of the one next to
// the module's file. If there is no file at path, it looks for the separate files of the units. Call it before the first query.
func (s *Source) UsePackage(path string) { s.dwp = path }

// Close closes all files. Later queries open them again.
func (s *Source) Close() error {
	s.registry.mu.Lock()
	modules := slices.Collect(maps.Keys(s.open))
	s.registry.mu.Unlock()
	for _, m := range modules {
		m.reset()
	}
	return nil
}

// Frames returns the answer to a query. If the file cannot be read, the Files of the answer say why.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a, files, ok := inTime(ctx, s, q, (*File).cold, (*module).ask)
	if !ok {
		return symsrc.Answer{Files: files}
	}
	return a
}

// with calls ask with a module whose files are open and with the Files for the name key. It repeats the call if the files were
// overwritten meanwhile. It returns false if the context ended before the files were found, or if they were overwritten each time.
func (s *Source) with(ctx context.Context, key symsrc.Module, ask func(*module, *symsrc.Files)) (*symsrc.Files, bool) {
	m, n := s.lookup(key)
	for reopened := 0; ; {
		m.mu.RLock()
		if m.loaded && n.stale(m) {
			m.mu.RUnlock()
			m, n = s.renamed(key, n)
			continue
		}
		if m.loaded && !m.stale() {
			files := n.files(m)
			ask(m, files)
			m.used.Store(s.clock.Add(1))
			intact, overBudget := m.intact(), m.overBudget()
			if !m.deadline.quick.Load() {
				m.updateQuick()
			}
			m.mu.RUnlock()
			if overBudget && intact {
				s.refuse(m)
				return files, true
			}
			if !intact && reopened == maxReopened {
				return keepsChanging(files), false
			}
			if !intact {
				reopened++
				m.reopen()
				continue
			}
			if s.inUse.Load() > s.memory {
				s.evict(m)
			}
			return files, true
		}
		m.mu.RUnlock()
		files, same, ok := s.load(ctx, m)
		if !ok {
			return files, false
		}
		if same != m {
			m, n = s.lookup(key)
		}
	}
}

// load finds and opens the module's files. If another module has the same files, it returns that one as same, otherwise m. It returns
// false if the context ended before the files were found.
func (s *Source) load(ctx context.Context, m *module) (_ *symsrc.Files, same *module, ok bool) {
	key := m.key
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded && !m.stale() {
		return m.files, m, true
	}
	m.close()
	files := m.deadline.lastFound()
	if files == nil {
		files = s.finder.Find(ctx, key)
	}
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	if ctx.Err() != nil && !files.Usable() {
		m.deadline.forgetFound()
		return files, m, false
	}
	if same := s.share(m, files); same != m {
		return files, same, true
	}
	want := key.BuildID
	if files.Unverified {
		want = ""
	}
	m.open(files, want)
	for _, f := range m.opened {
		f.deps.dwp = s.dwp
	}
	s.indexes.attach(m)
	s.evict(m)
	return files, m, true
}

// Code returns the functions at an address of code, the innermost inlined one first and the physical one last, or nil if nothing is
// known.
func (f *File) Code(addr uint64) []symsrc.Frame { return f.functions(addr, false) }

// functions is Code. If folded is set, the last frame has its Folded.
func (f *File) functions(addr uint64, folded bool) (frames []symsrc.Frame) {
	f.elf.Budget.CountQuery()
	if f.index.isUsed() {
		at := addr
		f.guard(func() { at = f.codeAddr(addr) })
		frames, _, ok := f.index.frames(at, false)
		if ok && folded && f.mayBeFolded(frames) {
			var names string
			names, ok = f.index.folded(at)
			frames = withFolded(frames, names)
		}
		if ok {
			return frames
		}
	}
	f.guard(func() {
		var sym *elf.Match
		if frames, sym = f.answer(addr); folded && f.mayBeFolded(frames) {
			frames = withFolded(frames, f.foldedNames(sym))
		}
	})
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

// answer returns the frames of Code, and the symbol at the address, which may be nil.
func (f *File) answer(addr uint64) ([]symsrc.Frame, *elf.Match) {
	addr = f.codeAddr(addr)
	frames := f.goTab.frames(f, addr)
	if frames == nil && f.elf.Overlaid(addr) && !f.policy.symbolsOnly {
		return nil, nil
	}
	sym := f.symbols.at(addr)
	ok := sym != nil && sym.Name.Linkage != "" && (sym.Function || f.holdsCode(addr))
	if frames != nil {
		if start, isKnown := f.goTab.of(f).Start(addr); ok && isKnown && start == sym.Start { // its name has the type arguments
			outer := &frames[len(frames)-1]
			outer.Func, outer.Linkage = sym.Name.Demangled, sym.Name.Linkage
		}
		return frames, sym
	}
	origin := symsrc.SymbolOnly
	if u, at := f.unitFor(addr); u != nil {
		ok = ok && !f.endsBefore(sym, u, at)
		frames = u.Frames(at, !ok, false)
		origin = symsrc.SymbolInUnit
	}
	if !ok {
		return frames, sym
	}
	if frames == nil {
		frames = []symsrc.Frame{{File: sym.File}}
	} else {
		origin = symsrc.SymbolAndDebug
	}
	outer := &frames[len(frames)-1]
	outer.Func, outer.Linkage, outer.Origin = sym.Name.Demangled, sym.Name.Linkage, origin
	return frames, sym
}

// endsBefore reports whether a symbol without a size, which covers the address only as far as the symbol table says, is not that of the code
// there: the debug information has a function whose symbol was stripped. That begins after the symbol, or the symbol is a label in it.
// Symbols of Mach-O files have no sizes, and end where functions start.
func (f *File) endsBefore(sym *elf.Match, u *dwarf.Unit, addr uint64) bool {
	if sym.Sized || f.policy.symbolsOnly || f.objects.macho != nil {
		return false
	}
	if start, ok := u.FunctionStart(addr); ok {
		return start > sym.Start || start < sym.Start && !sym.Function
	}
	start, ok := f.dwarf.RangeStart(addr) // the functions may be in a file that is missing
	return ok && start > sym.Start
}

// holdsCode reports whether there may be code at an address. Symbols of data without a size, such as __FRAME_END__, must not name code.
func (f *File) holdsCode(addr uint64) bool {
	return f.policy.symbolsOnly || f.elf.HoldsCode(addr) || f.other != nil && f.other.elf.HoldsCode(addr)
}

// ShortCode is Code with the short names of the functions (DW_AT_name), only from the debug information.
func (f *File) ShortCode(addr uint64) (frames []symsrc.Frame) {
	f.elf.Budget.CountQuery()
	f.guard(func() {
		addr := f.codeAddr(addr)
		if u, at := f.unitFor(addr); u != nil {
			frames = u.Frames(at, true, true)
		}
	})
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

// Data returns the variable at an address. It returns false if there is none.
func (f *File) Data(addr uint64) (frame symsrc.Frame, ok bool) {
	f.elf.Budget.CountQuery()
	f.guard(func() {
		addr := f.dataAddr(addr)
		sym := f.symbols.at(addr)
		if ok = sym != nil; ok {
			frame = symsrc.Frame{Func: sym.Name.Demangled, Linkage: sym.Name.Linkage, File: sym.File, Offset: addr - sym.Start}
		}
	})
	return frame, ok
}

// maxAnswer bounds the total length of the names and paths of an answer, in bytes. Hostile files have nested inlined calls of functions
// with long names.
const maxAnswer = 64 << 10

// tooLong reports whether an answer exceeds maxAnswer.
func tooLong(frames []symsrc.Frame) bool {
	n := 0
	for i := range frames {
		n += len(frames[i].Func) + len(frames[i].File)
	}
	return n > maxAnswer
}

// withoutLongAnswer returns a copy of files with a note that long answers are left out.
func withoutLongAnswer(of *symsrc.Files) *symsrc.Files {
	files := *of
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += fmt.Sprintf("answers of more than %d KiB are left out", maxAnswer>>10)
	return &files
}

// Named returns the functions with the same plain name as name, as the answer to a query of kind symsrc.Named.
func (f *File) Named(name string, addr uint64) (frames []symsrc.Frame) {
	f.guard(func() {
		addr = f.codeAddr(addr)
		frames = f.withPlainName(demangle.PlainName(name))
	})
	if len(frames) == 0 || f.fault.Load() != nil {
		return nil
	}
	frames = append([]symsrc.Frame(nil), frames...)
	for i := range frames {
		frames[i].Offset = addr - frames[i].Offset
	}
	return frames
}

// goTable is the gopclntab of a Go program. It is read lazily.
type goTable struct {
	once  sync.Once
	table *gopclntab.Table // nil if there is none or it cannot be read
}

// of returns the gopclntab of f if it has no DWARF; otherwise nil. The linker's flag -w leaves the symbol table, which has no lines.
func (g *goTable) of(f *File) *gopclntab.Table {
	other := f.other
	if other == nil {
		other = f
	}
	if f.policy.symbolsOnly || f.HasDebug() || other.HasDebug() {
		return nil
	}
	g.once.Do(func() { g.table = gopclntab.Read(f.elf) })
	return g.table
}

// frames returns the functions at an address of f according to that table, nil if there is none.
func (g *goTable) frames(f *File, addr uint64) []symsrc.Frame {
	if t := g.of(f); t != nil {
		return t.Frames(addr)
	}
	return nil
}

// Place returns the address of a query in the address space of the module's file, and the load address in the file's headers, which
// is the base of the addresses in Breakpad symbol files. It returns false if there is no such file, or its headers do not say.
func (s *Source) Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	type place struct {
		addr, base uint64
		ok         bool
	}
	at, _, _ := inTime(ctx, s, q, nil, func(m *module, q symsrc.Addr, _ *symsrc.Files) (at place) {
		if m.file == nil {
			return at
		}
		if at.addr, at.ok = m.file.Address(q); at.ok {
			m.file.guard(func() { at.addr = m.file.codeAddr(at.addr) })
			at.base, at.ok = m.file.elf.LoadAddress()
		}
		return at
	})
	return at.addr, at.base, at.ok
}

// Description is what the headers of a module's file say.
type Description struct {
	ID symsrc.BuildID
	// Machine is the name of the machine in Breakpad. Darwin is that of the architecture of a Mach-O file, "" for others.
	Machine, Darwin string
	// Base is the address of the first segment.
	Base uint64
}

// Describe returns the description of a module's file.
func (s *Source) Describe(ctx context.Context, key symsrc.Module) (d Description, err error) {
	err = errNoFile
	files, _ := s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		base, ok := m.file.elf.LoadAddress()
		if !ok {
			err = errNotLoaded
			return
		}
		d, err = Description{ID: m.file.elf.ID, Machine: m.file.elf.MachineName(), Base: base}, nil
		if x := m.file.objects.macho; x != nil {
			d.Darwin = x.Arch
		}
	})
	if err != nil && files != nil && files.Note != "" {
		err = fmt.Errorf("%w: %s", err, files.Note)
	}
	return d, err
}

var (
	errNoFile    = errors.New("its file cannot be read")
	errNotLoaded = errors.New("it is not linked")
)

// muchPacked is the uncompressed size of the sections of a file, in bytes, from which on unpacking takes longer than a query to
// another process.
const muchPacked = 32 << 20

// Packed reports whether the first answer for a module takes long because large compressed sections were not unpacked before. It opens
// the files.
func (s *Source) Packed(ctx context.Context, m symsrc.Module) (packed bool) {
	s.with(ctx, m, func(m *module, _ *symsrc.Files) {
		for _, f := range m.opened {
			packed = packed || f.dwarf.UnpackedSize >= muchPacked && !m.index().isUsed()
		}
	})
	return packed
}
