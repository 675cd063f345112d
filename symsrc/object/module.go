package object

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/elf"
)

// checkEvery is the interval between checks for changes of open files on disk.
const checkEvery = time.Second

// module is one module with its files. Queries hold mu for reading.
type module struct {
	of  *Source
	key symsrc.Module // that of the first query

	deadline deadline

	used   atomic.Int64 // value of registry.clock after the last query
	weight atomic.Int64 // memory of its open files, in bytes; 0 if none is open

	all *sharedFiles // nil if they are not shared; it changes while both mu and the registry's mu are locked

	mu      sync.RWMutex
	loaded  bool
	found   *symsrc.Files // the result of the finder
	files   *symsrc.Files // the same, with the errors of files that cannot be opened
	file    *File         // the file that answers: the debug file if there is one
	opened  []openFile
	refused []*refusal   // of the files that were not opened because of a refusal
	checked atomic.Int64 // time of the last check for changes on disk, in Unix nanoseconds
}

// openFile is a File and the part of the disk file from which it was opened.
type openFile struct {
	*File
	path string
	part symsrc.Range
}

// stale reports whether another search may find more files or, about once a second, whether a file on disk has changed since it was
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
	changed := m.files.Watch.Look() || slices.ContainsFunc(m.refused, (*refusal).stale)
	for _, f := range m.opened {
		changed = changed || f.changed(f.path)
	}
	if changed {
		m.checked.Store(0) // so that load checks again
	}
	return changed
}

// ask returns the answer to a query from the open files. files are the Files for the name in the query.
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
	if q.Kind == symsrc.CallSite {
		a.Call = m.file.Call(q)
		return a
	}
	addr, ok := m.file.Address(q)
	switch {
	case !ok:
	case q.Kind == symsrc.Locals:
		a.Locals = m.file.Locals(addr)
	case q.Kind == symsrc.Detailed:
		a.Frames, a.Details = m.file.Detailed(addr)
	case q.Kind == symsrc.Global:
		if frame, ok := m.file.Global(addr); ok {
			a.Frames = []symsrc.Frame{frame}
		}
	case q.Kind == symsrc.Data:
		if frame, ok := m.file.Data(addr); ok {
			a.Frames = []symsrc.Frame{frame}
		}
	case q.Kind == symsrc.ShortCode:
		a.Frames = m.file.ShortCode(addr)
	default:
		a.Frames = m.file.functions(addr, true)
	}
	if fault := m.file.fault.Load(); fault != nil && len(a.Frames) == 0 {
		failed := *files
		fail(&failed, m.opened[0].path, fault)
		a.Files = &failed
	}
	if tooLong(a.Frames) {
		a.Frames, a.Files = nil, withoutLongAnswer(files)
	}
	for _, f := range m.opened {
		a.Partial = a.Partial || f.dwarf.MissingFiles()
	}
	m.index().want()
	return a
}

// open opens the usable files. It records errors in a copy of files.
func (m *module) open(files *symsrc.Files, want symsrc.BuildID) {
	m.found, m.files, m.loaded = files, files, true
	m.deadline.opened.Add(1)
	m.deadline.open.Store(true)
	m.checked.Store(time.Now().UnixNano())
	debug := m.openOne(files.Debug, files.DebugRange, files.DebugStatus, want)
	var exe *File
	// If a debug file of the wanted build has everything, the executable is not needed, which makes the first lookup faster.
	if want == "" || debug == nil || !debug.HasDebug() || !debug.HasSymbols() {
		exe = m.openOne(files.Elf, files.ElfRange, files.ElfStatus, want)
	}
	allowMismatch := m.of.policy.allowMismatch && want == ""
	if debug != nil && exe != nil && exe.elf.ID != "" && debug.elf.ID != exe.elf.ID && !allowMismatch {
		fail(m.copyFiles(), files.Debug, mismatch(files.Debug, exe.elf.ID, debug.elf.ID))
		m.opened[0].Close()
		m.opened, debug = m.opened[1:], nil
	}
	m.file = exe
	if debug != nil && (exe == nil || debug.HasDebug() || !exe.HasDebug() || allowMismatch) {
		m.file = debug
	}
	weight := int64(0)
	for _, f := range m.opened {
		weight += f.elf.Budget.InMemory() + fileWeight
		for _, other := range m.opened {
			if other != f && !allowMismatch {
				f.other = other.File
			}
		}
	}
	m.weight.Store(weight)
	m.of.inUse.Add(weight)
	for _, f := range m.opened {
		f.elf.Budget.CountIn(&m.weight, &m.of.inUse)
	}
	if allowMismatch && debug != nil && exe != nil { // like llvm, take the lines from one and the names from the other
		debug.symtab, debug.dynsym = exe.symtab, exe.dynsym
	}
	if debug != nil && exe == nil && (files.ElfStatus == symsrc.OK || files.ElfStatus == symsrc.Incomplete) {
		debug.runtimeFile.path, debug.runtimeFile.part = files.Elf, files.ElfRange
	}
}

// close closes the files, so that the next query loads them again.
func (m *module) close() {
	for _, f := range m.opened {
		f.Close()
	}
	if m.loaded {
		m.deadline.open.Store(false)
		m.deadline.quick.Store(false)
		m.deadline.asked.Store(0)
	}
	m.opened, m.refused, m.file, m.loaded = nil, nil, nil, false
	m.of.inUse.Add(-m.weight.Swap(0))
}

// openOne opens one file of the module and checks its build ID. It returns nil if that fails, or if status says that the file is not
// usable.
func (m *module) openOne(path string, part symsrc.Range, status symsrc.Status, want symsrc.BuildID) *File {
	if path == "" || status != symsrc.OK && status != symsrc.Incomplete {
		return nil
	}
	var f *File
	err := m.refusal(path, part)
	if err == nil {
		f, err = openWith(path, part, m.of.policy)
	}
	if err == nil && want != "" && !want.Fits(f.elf.ID) {
		f.Close()
		err = mismatch(part.Of(path), want, f.elf.ID)
	}
	if err != nil {
		fail(m.copyFiles(), path, err)
		return nil
	}
	m.opened = append(m.opened, openFile{f, path, part})
	if f.dwarf.Unsupported != nil { // the symbol tables can still be used
		files := m.copyFiles()
		files.DebugStatus = f.dwarf.Unsupported.Status
		files.Note = strings.TrimPrefix(files.Note+"; "+f.dwarf.Unsupported.Error(), "; ")
	}
	return f
}

// copyFiles replaces the module's Files with a copy and returns it, because the Files of the finder must not be modified.
func (m *module) copyFiles() *symsrc.Files {
	files := *m.files
	m.files = &files
	return &files
}

// fail records why the file at path is not used.
func fail(files *symsrc.Files, path string, err error) {
	status := symsrc.UnknownError
	var s *elf.StatusError
	if errors.As(err, &s) {
		status = s.Status
	}
	if path == files.Debug {
		files.DebugStatus = status
	}
	if path == files.Elf {
		files.ElfStatus = status
	}
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += err.Error()
}

// mismatch returns the error for a file with the wrong build ID.
func mismatch(path string, want, has symsrc.BuildID) error {
	if has == "" {
		return &elf.StatusError{Status: symsrc.MismatchBuildID, Err: fmt.Errorf("%s: no build ID, want %s", path, want)}
	}
	return &elf.StatusError{Status: symsrc.MismatchBuildID, Err: fmt.Errorf("%s: build ID %s, want %s", path, has, want)}
}

// intact reports whether the module's files were not overwritten since they were opened.
func (m *module) intact() bool {
	for _, f := range m.opened {
		if !f.intact() {
			return false
		}
	}
	return true
}

// maxReopened is the number of times that one query reopens files because they were overwritten.
const maxReopened = 3

var errKeepsChanging = errors.New("the file changes while it is read")

// keepsChanging returns the Files for a module whose files are overwritten repeatedly. A later query tries again.
func keepsChanging(files *symsrc.Files) *symsrc.Files {
	changing := *files
	changing.ElfStatus, changing.DebugStatus = symsrc.ReadError, symsrc.ReadError
	changing.Note, changing.Retry = errKeepsChanging.Error(), func() bool { return true }
	return &changing
}

// reopen closes the files of a module that were overwritten. The next query loads them again.
func (m *module) reopen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.intact() { // unless another goroutine has closed them
		m.close()
	}
}

// refusal records a file that exceeded its budget. The file is closed, and not opened again until it changes on disk: it would cost as
// much again for every module that uses it, and after every eviction.
type refusal struct {
	path string
	part symsrc.Range
	stat fs.FileInfo
	why  *elf.StatusError
}

// stale reports whether the file has changed on disk.
func (r *refusal) stale() bool { return diskcache.Changed(r.path, r.stat) }

// refusals are the refusals of a Source.
type refusals struct {
	mu  sync.Mutex
	all map[refusalKey]*refusal
}

// refusalKey identifies the file of a refusal.
type refusalKey struct {
	path string
	part symsrc.Range
}

// maxRefusals bounds the refusals that are kept.
const maxRefusals = 1 << 14

func (r *refusals) add(one *refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= maxRefusals {
		r.all = make(map[refusalKey]*refusal)
	}
	r.all[refusalKey{one.path, one.part}] = one
}

func (r *refusals) get(path string, part symsrc.Range) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[refusalKey{path, part}]
}

// overBudget reports whether a file of the module has exceeded its budget.
func (m *module) overBudget() bool {
	for _, f := range m.opened {
		if fault := f.fault.Load(); fault != nil && errors.Is(fault, budget.ErrExceeded) {
			return true
		}
	}
	return false
}

// refuse closes the files of a module of which one has exceeded its budget, and records the refusal of that one.
func (s *Source) refuse(m *module) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.overBudget() { // another goroutine has closed them
		return
	}
	for _, f := range m.opened {
		if fault := f.fault.Load(); fault != nil && errors.Is(fault, budget.ErrExceeded) && f.stat != nil {
			s.refused.add(&refusal{f.path, f.part, f.stat, fault})
		}
	}
	m.close()
}

// refusal returns the error of a file that is refused, or nil.
func (m *module) refusal(path string, part symsrc.Range) error {
	r := m.of.refused.get(path, part)
	if r == nil || r.stale() {
		return nil
	}
	m.refused = append(m.refused, r)
	return fmt.Errorf("%s: %w", part.Of(path), r.why)
}
