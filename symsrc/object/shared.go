package object

import (
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// A library goes by many names, in each container and each process another one: the verified files of a build are opened and read
// once for all of them. What is said of the files is each name's own: where the library itself was looked for in vain, for one.

// sharedFiles are what modules share: files that can be read, and what is wrong with them.
type sharedFiles struct {
	id                     symsrc.BuildID
	elf, debug             string
	elfRange, debugRange   symsrc.Range
	elfStatus, debugStatus symsrc.Status
	note                   string
}

// sharing returns what the module of a key shares with others; nil where that is nothing.
func sharing(key symsrc.Module, files *symsrc.Files) *sharedFiles {
	if key.BuildID == "" || files.Unverified || !files.Usable() {
		return nil
	}
	all := &sharedFiles{id: key.BuildID, elfStatus: files.ElfStatus, debugStatus: files.DebugStatus, note: files.Note}
	if opens(files.ElfStatus) {
		all.elf, all.elfRange = files.Elf, files.ElfRange
	}
	if opens(files.DebugStatus) {
		all.debug, all.debugRange = files.Debug, files.DebugRange
	}
	return all
}

// opens reports whether a file of that status is opened.
func opens(status symsrc.Status) bool { return status == symsrc.OK || status == symsrc.Incomplete }

// alias is a further name of a module, with what was found by it.
type alias struct {
	all     *sharedFiles
	found   *symsrc.Files
	checked atomic.Int64 // when the files on disk were looked at, in nanoseconds
}

// files returns what is to be said of the module's files by that name. The module is locked.
func (n *alias) files(m *module) *symsrc.Files {
	switch {
	case n == nil:
		return m.files
	case m.files == m.found:
		return n.found
	}
	files := *n.found
	files.ElfStatus, files.DebugStatus, files.Note = m.files.ElfStatus, m.files.DebugStatus, m.files.Note
	return &files
}

// outdated reports whether the name may stand for other files than the module's by now. The module is locked.
func (n *alias) outdated(m *module) bool {
	if n == nil {
		return false
	}
	if n.all != m.all || n.found.Retry != nil && n.found.Retry() || n.found.Watch.Changed() {
		return true
	}
	now := time.Now().UnixNano()
	last := n.checked.Load()
	return now-last >= int64(checkEvery) && n.checked.CompareAndSwap(last, now) && n.found.Watch.Look()
}

// renamed forgets what an outdated name stood for, and returns what it does now.
func (s *Source) renamed(key symsrc.Module, n *alias) (*module, *alias) {
	s.mu.Lock()
	if s.aliases[key] == n {
		delete(s.aliases, key)
		delete(s.modules, key)
		s.last.Store(nil)
	}
	s.mu.Unlock()
	return s.known(key)
}

// share returns the module that answers for all of these files: m where there is none yet. m is locked.
func (s *Source) share(m *module, files *symsrc.Files) *module {
	all := sharing(m.key, files)
	if all != nil && m.all != nil && *all == *m.all {
		all = m.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.all != nil && m.all != all && s.shared[*m.all] == m {
		delete(s.shared, *m.all)
	}
	m.all = all
	if all == nil {
		return m
	}
	first := s.shared[*all]
	if first == nil || first == m {
		s.shared[*all] = m
		return m
	}
	m.all = nil
	if s.modules[m.key] == m {
		n := &alias{all: first.all, found: files}
		n.checked.Store(time.Now().UnixNano())
		s.modules[m.key], s.aliases[m.key] = first, n
		s.last.Store(nil)
	}
	return first
}

// sharer returns the module that is going to answer for one that is not open yet, as far as that is known: m itself, or the one that
// has its files.
func (s *Source) sharer(m *module) *module {
	m.patience.finding.Lock()
	files := m.patience.found
	m.patience.finding.Unlock()
	if files == nil {
		return m
	}
	all := sharing(m.key, files)
	if all == nil {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.shared[*all]; first != nil {
		return first
	}
	return m
}
