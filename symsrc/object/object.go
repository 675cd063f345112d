// Package object turns addresses of ELF files into functions, source files and lines: a symsrc.Source over packages elf, dwarf, codeprobe
// and gopclntab. It opens files, keeps them open while they are asked about, notices that they change, and bounds what they cost.
//
//   - object.go: Source, how a question finds its module, what is at an address, what a file is, and what llvm-symbolizer does
//     differently; registry.go: the modules of a Source, by their names
//   - module.go: the files of a module: opened, checked, closed, and refused where they cost too much
//   - deadline.go: questions do not wait for a file that takes long
//   - file.go: File, one ELF file with all that is read with it; runtime.go: the file that is loaded at run time, where another one
//     has the debug information
//   - dependencies.go: where a file's bytes are from, and the files that its debug information names
//   - address.go: which address a question means; symbols.go: the names of symbol tables
//   - probe.go: what the code around an address shows, and the call that ends at one
//   - walk.go: all code of a file, and all of its call frame information
//   - prefetch.go: sections that are unpacked before they are asked for; unpacked.go: unpacked copies of them on disk, for the next process
//
// A file that goes beyond its budget is CORRUPTED from then on. Files may also be overwritten while they are mapped. Only File, which owns
// the mapped bytes, recovers from panics and memory faults.
package object

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/gopclntab"
)

// policy is how a Source answers where readers of object files differ. It is set once, by the function that makes the Source.
type policy struct {
	elf   elf.Rules
	dwarf dwarf.Rules
	// literalAddresses takes addresses as they come: a pointer's tag is not taken out, and an address in a relocatable file is not placed.
	literalAddresses bool
	// symbolsOnly names code outside of the debug information by the symbol tables alone.
	symbolsOnly bool
	// allowMismatch uses a program and its debug file together, where the question names no build ID, even if theirs differ.
	allowMismatch bool
	// literalPaths looks for the files that debug information names where it says, and nowhere else. The supplementary file is not read.
	literalPaths bool
}

// defaultPolicy names no symbol that may be the wrong one.
var defaultPolicy policy

// llvmPolicy is how llvm-symbolizer answers.
var llvmPolicy = policy{
	elf:              elf.Rules{CodeAtZero: true, SectionRelative: true, Unbounded: true, SkipZdebug: true},
	dwarf:            dwarf.Rules{Overlaps: true, ReportEntries: true, PlacedLines: true, PackageOnly: true},
	literalAddresses: true,
	symbolsOnly:      true,
	allowMismatch:    true,
	literalPaths:     true,
}

// Limits of what a Source keeps: bytes of what was read of files, unless UseMemory sets another number; modules with open files, of
// which each takes a few of the process's mappings; and modules altogether.
const (
	DefaultMemory = 256 << 20
	maxOpen       = 1 << 13
	maxModules    = 1 << 14
)

// fileWeight is what an open file takes in memory before the first question, in bytes.
const fileWeight = 8 << 10

// Source answers from ELF files on disk. It remembers the modules that it was asked for, and keeps their files open while what was read
// of them fits into its memory.
type Source struct {
	finder symsrc.Finder
	policy *policy
	dwp    string // see UsePackage

	wait  time.Duration // see deadline
	after func(time.Duration) *time.Timer
	warn  func(message string)

	memory   int64        // see UseMemory
	inUse    atomic.Int64 // bytes that were read of all open files
	refused  refusals
	unpacked *unpackedCache
	registry
}

// NewSource returns a Source of the files that f finds.
func NewSource(f symsrc.Finder) *Source {
	s := &Source{finder: f, policy: &defaultPolicy, memory: DefaultMemory, wait: maxWait, after: time.NewTimer}
	s.registry = registry{of: s, modules: make(map[symsrc.Module]*module), aliases: make(map[symsrc.Module]*alias),
		shared: make(map[sharedFiles]*module), open: make(map[*module]bool)}
	return s
}

// NewLLVMSource returns a Source that answers as llvm does, also where that may name the wrong symbol: one without a size covers
// everything up to the next symbol, also beyond its section, and the last one everything beyond the program.
func NewLLVMSource(f symsrc.Finder) *Source {
	s := NewSource(f)
	s.policy = &llvmPolicy
	return s
}

// SkipLineZero makes code without a line have the last row of the line table that has one, of whatever function, as llvm's
// --skip-line-zero does. Call it before the first question, of a source that answers as llvm does.
func (s *Source) SkipLineZero() {
	policy := *s.policy
	policy.dwarf.SkipLineZero = true
	s.policy = &policy
}

// UseMemory makes the source keep about that many bytes of what it has read of files, in place of DefaultMemory. It always keeps those of
// the modules that questions are being answered of. Call it before the first question.
func (s *Source) UseMemory(bytes int64) { s.memory = bytes }

// Warn makes the source call warn once for each module for which questions do not wait any longer. Call it before the first question.
func (s *Source) Warn(warn func(message string)) { s.warn = warn }

// UsePackage makes the source look for the split units of every module in the package at path (a .dwp file) in place of the
// one beside the module's file. Where there is no file at path, the units' own files are looked for. Call it before the first question.
func (s *Source) UsePackage(path string) { s.dwp = path }

// Frames returns the answer to a question. Where the file cannot be read the answer's Files say why.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a, files, ok := inTime(ctx, s, q.Module, func(f *File) bool { return f.cold(q) }, func(m *module, files *symsrc.Files) symsrc.Answer { return m.ask(q, files) })
	if !ok {
		return symsrc.Answer{Files: files}
	}
	return a
}

// with calls ask with a module whose files are open, and with its files by the name of the question; again where the files were
// overwritten meanwhile. It returns false where the context ended before they were found, and where they were overwritten each time.
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
			s.unpacked.begin()
			ask(m, files)
			s.unpacked.end()
			m.used.Store(s.clock.Add(1))
			lost, intact, overBudget := m.lostCopy(), m.intact(), m.overBudget()
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
			if lost || !intact {
				if intact {
					s.unpacked.disabled.Store(true)
				} else {
					reopened++
				}
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

// load finds and opens the module's files, unless another module has these open: then it returns that one as same. It returns false where
// the context ended before, which says nothing about the files.
func (s *Source) load(ctx context.Context, m *module) (_ *symsrc.Files, same *module, ok bool) {
	key := m.key
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded && !m.stale() {
		return m.files, m, true
	}
	m.close()
	files := m.deadline.takeFound()
	if files == nil {
		files = s.finder.Find(ctx, key)
	}
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	if ctx.Err() != nil && !files.Usable() {
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
		s.unpacked.attach(f.File, f.part)
	}
	s.evict(m)
	return files, m, true
}

// Code returns the functions at an address of code: the innermost inlined one first, the physical one last; nil where
// nothing is known.
func (f *File) Code(addr uint64) (frames []symsrc.Frame) {
	f.elf.Budget.Question()
	f.guard(func() { frames = f.answer(addr) })
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

func (f *File) answer(addr uint64) []symsrc.Frame {
	addr = f.codeAddr(addr)
	if frames := f.goTab.frames(f, addr); frames != nil {
		return frames
	}
	sym, ok := f.symbols.at(addr)
	ok = ok && sym.Name.Linkage != "" && (sym.Function || f.holdsCode(addr))
	var frames []symsrc.Frame
	origin := symsrc.SymbolOnly
	if u := f.dwarf.UnitFor(addr); u != nil {
		frames = u.Frames(addr, !ok, false)
		origin = symsrc.SymbolInUnit
	}
	if !ok {
		return frames
	}
	if frames == nil {
		frames = []symsrc.Frame{{File: string(sym.File)}}
	} else {
		origin = symsrc.SymbolAndDebug
	}
	outer := &frames[len(frames)-1]
	outer.Func, outer.Linkage, outer.Origin = sym.Name.Demangled, sym.Name.Linkage, origin
	return frames
}

// holdsCode reports whether there may be code at an address: symbols such as __FRAME_END__ name data without a size, and go on to
// the end of their section.
func (f *File) holdsCode(addr uint64) bool {
	return f.policy.symbolsOnly || f.elf.HoldsCode(addr) || f.other != nil && f.other.elf.HoldsCode(addr)
}

// ShortCode does what Code does, with the functions' short names, all from the debug information.
func (f *File) ShortCode(addr uint64) (frames []symsrc.Frame) {
	f.elf.Budget.Question()
	f.guard(func() {
		addr := f.codeAddr(addr)
		if u := f.dwarf.UnitFor(addr); u != nil {
			frames = u.Frames(addr, true, true)
		}
	})
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

// Data returns the variable at an address.
func (f *File) Data(addr uint64) (frame symsrc.Frame, ok bool) {
	f.elf.Budget.Question()
	f.guard(func() {
		addr := f.dataAddr(addr)
		var sym elf.Match
		if sym, ok = f.symbols.at(addr); ok {
			frame = symsrc.Frame{Func: sym.Name.Demangled, Linkage: sym.Name.Linkage, File: string(sym.File), Offset: addr - sym.Start}
		}
	})
	return frame, ok
}

// maxAnswer bounds an answer, in bytes of names and paths: calls of functions with long names may be inlined into each other.
const maxAnswer = 64 << 10

// tooLong reports whether an answer has more text than maxAnswer.
func tooLong(frames []symsrc.Frame) bool {
	n := 0
	for i := range frames {
		n += len(frames[i].Func) + len(frames[i].File)
	}
	return n > maxAnswer
}

// withoutLongAnswer returns files with a note that an answer is left out.
func withoutLongAnswer(of *symsrc.Files) *symsrc.Files {
	files := *of
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += fmt.Sprintf("answers of more than %d KiB are left out", maxAnswer>>10)
	return &files
}

// Named returns the functions whose plain name is that of name, as answers to questions of kind symsrc.Named.
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

// goTable is Go's own table of a file, read when the first address is asked for; nil where there is none that can be read.
type goTable struct {
	once  sync.Once
	table *gopclntab.Table
}

// frames returns the functions at an address of f by the Go program's own table, where that is all there is; nil otherwise.
func (g *goTable) frames(f *File, addr uint64) []symsrc.Frame {
	other := f.other
	if other == nil {
		other = f
	}
	if f.policy.symbolsOnly || f.HasDebug() || other.HasDebug() || f.symtab != nil || other.symtab != nil {
		return nil
	}
	g.once.Do(func() { g.table = gopclntab.Read(f.elf) })
	if g.table == nil {
		return nil
	}
	return g.table.Frames(addr)
}

// Place returns the address that a question is about, in the address space of the module's file, and where that file is loaded by
// its own headers: the address of its first segment, from which Breakpad's symbol files count. ok is false where there is no such file.
func (s *Source) Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	type place struct {
		addr, base uint64
		ok         bool
	}
	at, _, _ := inTime(ctx, s, q.Module, nil, func(m *module, _ *symsrc.Files) (at place) {
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

// Describe returns what a module's file is: its build ID, its machine in Breakpad's words, and the address of its first segment.
func (s *Source) Describe(ctx context.Context, key symsrc.Module) (id symsrc.BuildID, machine string, base uint64, err error) {
	err = errNoFile
	files, _ := s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		var ok bool
		if base, ok = m.file.elf.LoadAddress(); !ok {
			err = errNotLoaded
			return
		}
		id, machine, err = m.file.elf.ID, m.file.elf.MachineName(), nil
	})
	if err != nil && files != nil && files.Note != "" {
		err = fmt.Errorf("%w: %s", err, files.Note)
	}
	return id, machine, base, err
}

var (
	errNoFile    = errors.New("no such file can be read")
	errNotLoaded = errors.New("it is not linked")
)

// muchPacked is the size that the sections of a file unpack to, in bytes, from which on unpacking takes longer than to ask another
// process.
const muchPacked = 32 << 20

// Packed reports whether the first answer of a module's files takes long because they are compressed and were not unpacked before.
// It opens the files.
func (s *Source) Packed(ctx context.Context, m symsrc.Module) (packed bool) {
	s.with(ctx, m, func(m *module, _ *symsrc.Files) {
		for _, f := range m.opened {
			packed = packed || f.dwarf.UnpackedSize >= muchPacked && !f.unpacked.isMapped()
		}
	})
	return packed
}
