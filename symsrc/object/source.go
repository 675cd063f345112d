package object

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Finder finds the files of a module. What it gives is not changed afterwards.
type Finder interface {
	Find(ctx context.Context, m symsrc.Module) *symsrc.Files
}

// Limits of what a Source keeps: bytes of what was read of files, unless another number is asked for; modules with open files,
// of which each takes a few mappings of the process's; and modules altogether.
const (
	DefaultMemory = 256 << 20
	maxOpen       = 1 << 13
	maxModules    = 1 << 14
)

// fileWeight is what an open file takes in memory before anything is asked, in bytes.
const fileWeight = 8 << 10

// Source answers from ELF files on disk. It remembers the modules that it was asked for, and keeps their files open while what was
// read of them fits into its memory.
type Source struct {
	finder Finder
	by     *policy
	dwp    string

	wait    time.Duration // see patience
	after   func(time.Duration) *time.Timer
	warn    func(message string)
	memory  int64        // see UseMemory
	inUse   atomic.Int64 // bytes that were read of all open files
	refused refusals

	twins *twins
	clock atomic.Int64 // counts questions, to know which module was used last

	last    atomic.Pointer[lastModule]
	mu      sync.Mutex
	modules map[symsrc.Module]*module
	aliases map[symsrc.Module]*alias // of those of modules that are not its first one
	shared  map[sharedFiles]*module  // that answers for all modules of these files
	open    map[*module]bool         // those that may have open files, few beside those of which there is no file
}

// lastModule is the one that was asked last, which is found without a lock: questions come in runs.
type lastModule struct {
	key symsrc.Module
	*module
	alias *alias
}

// NewSource answers from the files that the finder finds.
func NewSource(f Finder) *Source {
	return &Source{finder: f, by: &ourPolicy, memory: DefaultMemory, wait: maxWait, after: time.NewTimer, modules: make(map[symsrc.Module]*module), aliases: make(map[symsrc.Module]*alias), shared: make(map[sharedFiles]*module), open: make(map[*module]bool)}
}

// NewLLVMSource answers as llvm does also where that may name the wrong symbol: one without a size covers everything up to
// the next symbol, also beyond its section, and the last one all that is beyond the program.
func NewLLVMSource(f Finder) *Source {
	s := NewSource(f)
	s.by = &llvmPolicy
	return s
}

// SkipLineZero gives code without a line the last row of the line table that has one, of whatever function, as llvm's
// --skip-line-zero does. It is for the time before the first question, and for a source that answers as llvm.
func (s *Source) SkipLineZero() {
	by := *s.by
	by.dwarf.SkipLineZero = true
	s.by = &by
}

// UseMemory makes the source keep that many bytes of what it has read of files, about, in place of DefaultMemory. It always
// keeps those of the modules that are being asked. It is for the time before the first question.
func (s *Source) UseMemory(bytes int64) { s.memory = bytes }

// Warn makes the source tell of each module for which the questions do not wait any longer. It is for the time before the first
// question.
func (s *Source) Warn(warn func(message string)) { s.warn = warn }

// UsePackage makes the source look for the split units of every module in the package at path (a .dwp file) in place of the
// one beside the module's file. Where there is no file at path, the units' own files are looked for. It is for the time
// before the first question.
func (s *Source) UsePackage(path string) { s.dwp = path }

// Frames answers one question. Where the file cannot be read the answer's Files tell why.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a, files, ok := inTime(ctx, s, q.Module, func(f *File) bool { return f.cold(q) }, func(m *module, files *symsrc.Files) symsrc.Answer { return m.ask(q, files) })
	if !ok {
		return symsrc.Answer{Files: files}
	}
	return a
}

// with asks a module whose files are open, again where they were overwritten meanwhile; the files that ask is given are those of
// the name that the module goes by. It is false where the context ended before they were found, and where what was answered is of
// files that do not keep still.
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
			s.twins.begin()
			ask(m, files)
			s.twins.end()
			m.used.Store(s.clock.Add(1))
			lost, intact, beyond := m.lostTwin(), m.intact(), m.beyond()
			if !m.patience.quick.Load() {
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
					s.twins.off.Store(true)
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

// module is the entry of a module, loaded or not.
func (s *Source) module(key symsrc.Module) *module {
	m, _ := s.known(key)
	return m
}

// known returns the entry of a module, loaded or not, and what its name is where that is not the entry's first one.
func (s *Source) known(key symsrc.Module) (*module, *alias) {
	if l := s.last.Load(); l != nil && l.key == key {
		return l.module, l.alias
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, n := s.modules[key], s.aliases[key]
	if m == nil {
		if len(s.modules) >= maxModules {
			s.forgetModules()
		}
		m = &module{of: s, key: key}
		s.modules[key] = m
	}
	s.last.Store(&lastModule{key, m, n})
	return m, n
}

// forgetModules forgets all modules but those with open files, and all their further names.
func (s *Source) forgetModules() {
	s.last.Store(nil)
	clear(s.aliases)
	for k, m := range s.modules {
		switch {
		case k != m.key:
			delete(s.modules, k)
		case m.weight.Load() == 0:
			delete(s.modules, k)
			if m.all != nil && s.shared[*m.all] == m {
				delete(s.shared, *m.all)
			}
		}
	}
}

// load finds and opens the module's files, unless another module has these open: then that one answers for it. It is false where
// the context ended before, which says nothing of the files.
func (s *Source) load(ctx context.Context, m *module) (_ *symsrc.Files, same *module, ok bool) {
	key := m.key
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded && !m.stale() {
		return m.files, m, true
	}
	m.close()
	files := m.patience.takeFound()
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
		f.dwp = s.dwp
		s.twins.attach(f.File, f.part)
	}
	s.evict(m)
	return files, m, true
}

// evict closes the files that were not used for the longest time, while there are too many with those of keep.
func (s *Source) evict(keep *module) {
	if keep.weight.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[keep] = true
	busy := map[*module]bool{keep: true}
	for {
		open := 0
		var oldest *module
		for m := range s.open {
			if m.weight.Load() == 0 {
				delete(s.open, m)
				continue
			}
			open++
			if !busy[m] && (oldest == nil || m.used.Load() < oldest.used.Load()) {
				oldest = m
			}
		}
		if open <= maxOpen && s.inUse.Load() <= s.memory || oldest == nil {
			return
		}
		if !oldest.mu.TryLock() { // it is being asked: the next one has to go
			busy[oldest] = true
			continue
		}
		oldest.close()
		oldest.mu.Unlock()
	}
}

// checkEvery is how long an open file is taken to be the one on disk.
const checkEvery = time.Second

// module is what is known of one module. Questions hold mu for reading.
type module struct {
	of  *Source
	key symsrc.Module // by which it was asked for first

	patience patience

	used   atomic.Int64
	weight atomic.Int64 // bytes that its open files may hold, 0 where none is open

	all *sharedFiles // nil where nobody shares them; it changes while both mu and the source's are locked

	mu      sync.RWMutex
	loaded  bool
	found   *symsrc.Files // the finder's
	files   *symsrc.Files // the same, with what is wrong with them where they cannot be opened
	file    *File         // that is asked: the debug file if there is one, with the other one behind it
	opened  []openFile
	kept    []*refusal   // of its files that are not opened again as long as they are what they were
	checked atomic.Int64 // when the files on disk were looked at, in nanoseconds
}

type openFile struct {
	*File
	path string
	part symsrc.Range
}

// stale reports whether another search may find more, and about once a second whether a file on disk has changed since it was
// opened.
func (m *module) stale() bool {
	if m.files.Retry != nil && m.files.Retry() {
		return true
	}
	if m.files.Watch.Changed() {
		return true
	}
	now := time.Now().UnixNano()
	last := m.checked.Load()
	if now-last < int64(checkEvery) || !m.checked.CompareAndSwap(last, now) {
		return false
	}
	changed := m.files.Watch.Look() || slices.ContainsFunc(m.kept, (*refusal).stale)
	for _, f := range m.opened {
		changed = changed || f.changed(f.path)
	}
	if changed {
		m.checked.Store(0) // whoever loads sees it too
	}
	return changed
}

// ask answers from the open files, which are files by the name that is asked for.
func (m *module) ask(q symsrc.Addr, files *symsrc.Files) symsrc.Answer {
	a := symsrc.Answer{Files: files, Partial: files.Retry != nil}
	if m.file == nil {
		return a
	}
	if q.Kind == symsrc.Named {
		if addr, ok := m.file.Linked(q.Offset, q.Space); ok {
			a.Frames = m.file.Named(q.Symbol, addr)
		}
		return a
	}
	addr, ok := m.file.Address(q)
	switch {
	case !ok:
	case q.Kind == symsrc.Data:
		if frame, ok := m.file.Data(addr); ok {
			a.Frames = []symsrc.Frame{frame}
		}
	case q.Kind == symsrc.ShortCode:
		a.Frames = m.file.ShortCode(addr)
	default:
		a.Frames = m.file.Code(addr)
	}
	if fault := m.file.fault.Load(); fault != nil && len(a.Frames) == 0 {
		failed := *files
		fail(&failed, m.opened[0].path, fault)
		a.Files = &failed
	}
	if tooLong(a.Frames) {
		a.Frames, a.Files = nil, withoutLong(files)
	}
	for _, f := range m.opened {
		a.Partial = a.Partial || f.dwarf.Lacking.Load()
		f.keepTwin()
	}
	return a
}
