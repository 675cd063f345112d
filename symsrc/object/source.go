package object

import (
	"context"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

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
	by     *policy
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
	s := &Source{finder: f, by: &ourPolicy, memory: DefaultMemory, wait: maxWait, after: time.NewTimer}
	s.registry = registry{of: s, modules: make(map[symsrc.Module]*module), aliases: make(map[symsrc.Module]*alias),
		shared: make(map[sharedFiles]*module), open: make(map[*module]bool)}
	return s
}

// NewLLVMSource returns a Source that answers as llvm does, also where that may name the wrong symbol: one without a size covers
// everything up to the next symbol, also beyond its section, and the last one everything beyond the program.
func NewLLVMSource(f symsrc.Finder) *Source {
	s := NewSource(f)
	s.by = &llvmPolicy
	return s
}

// SkipLineZero makes code without a line have the last row of the line table that has one, of whatever function, as llvm's
// --skip-line-zero does. Call it before the first question, of a source that answers as llvm does.
func (s *Source) SkipLineZero() {
	by := *s.by
	by.dwarf.SkipLineZero = true
	s.by = &by
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
	m, n := s.known(key)
	for reopened := 0; ; {
		m.mu.RLock()
		if m.loaded && n.outdated(m) {
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
			lost, intact, beyond := m.lostCopy(), m.intact(), m.beyond()
			if !m.deadline.quick.Load() {
				m.hurry()
			}
			m.mu.RUnlock()
			if beyond && intact {
				s.refuse(m)
				return files, true
			}
			if !intact && reopened == maxReopened {
				return unsettled(files), false
			}
			if lost || !intact {
				if intact {
					s.unpacked.off.Store(true)
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
			m, n = s.known(key)
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
