package object

import (
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// registry holds the modules of a Source by their names.
//
// A library has many names, in each container and each process another one: the verified files of a build are opened and read once for
// all of them. What reports say of the files differs by name: where the library itself was looked for in vain, for example.
type registry struct {
	of    *Source
	clock atomic.Int64 // counts questions, to know which module was used last
	last  atomic.Pointer[lastModule]

	mu      sync.Mutex
	modules map[symsrc.Module]*module
	aliases map[symsrc.Module]*alias // of those of modules that are not its first one
	shared  map[sharedFiles]*module  // that answers for all modules of these files
	open    map[*module]bool         // those that may have open files, few beside those of which there is no file
}

// lastModule is the module of the last question, which is found without a lock: questions come in runs.
type lastModule struct {
	key symsrc.Module
	*module
	alias *alias
}

// module returns the entry of a module, loaded or not.
func (r *registry) module(key symsrc.Module) *module {
	m, _ := r.lookup(key)
	return m
}

// lookup returns the entry of a module, loaded or not, and what its name is where that is not the entry's first one.
func (r *registry) lookup(key symsrc.Module) (*module, *alias) {
	if l := r.last.Load(); l != nil && l.key == key {
		return l.module, l.alias
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, n := r.modules[key], r.aliases[key]
	if m == nil {
		if len(r.modules) >= maxModules {
			r.forgetModules()
		}
		m = &module{of: r.of, key: key}
		r.modules[key] = m
	}
	r.last.Store(&lastModule{key, m, n})
	return m, n
}

// forgetModules removes all modules but those with open files, and all their further names.
func (r *registry) forgetModules() {
	r.last.Store(nil)
	clear(r.aliases)
	for k, m := range r.modules {
		switch {
		case k != m.key:
			delete(r.modules, k)
		case m.weight.Load() == 0:
			delete(r.modules, k)
			if m.all != nil && r.shared[*m.all] == m {
				delete(r.shared, *m.all)
			}
		}
	}
}

// evict closes the files that were not used for the longest time, while there are too many with those of keep.
func (r *registry) evict(keep *module) {
	if keep.weight.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[keep] = true
	busy := map[*module]bool{keep: true}
	for {
		open := 0
		var oldest *module
		for m := range r.open {
			if m.weight.Load() == 0 {
				delete(r.open, m)
				continue
			}
			open++
			if !busy[m] && (oldest == nil || m.used.Load() < oldest.used.Load()) {
				oldest = m
			}
		}
		if open <= maxOpen && r.of.inUse.Load() <= r.of.memory || oldest == nil {
			return
		}
		if !oldest.mu.TryLock() { // a question of it is being answered: take the next one
			busy[oldest] = true
			continue
		}
		oldest.close()
		oldest.mu.Unlock()
	}
}

// sharedFiles are what modules share: files that can be read, and what is wrong with them.
type sharedFiles struct {
	id                     symsrc.BuildID
	elf, debug             string
	elfRange, debugRange   symsrc.Range
	elfStatus, debugStatus symsrc.Status
	note                   string
}

// sharedOf returns what the module of a key shares with others; nil where it shares nothing.
func sharedOf(key symsrc.Module, files *symsrc.Files) *sharedFiles {
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

// files returns the module's files as reports of that name show them. The module is locked.
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

// stale reports whether the name may mean other files than the module's by now. The module is locked.
func (n *alias) stale(m *module) bool {
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

// renamed removes what an outdated name meant, and returns what it means now.
func (r *registry) renamed(key symsrc.Module, n *alias) (*module, *alias) {
	r.mu.Lock()
	if r.aliases[key] == n {
		delete(r.aliases, key)
		delete(r.modules, key)
		r.last.Store(nil)
	}
	r.mu.Unlock()
	return r.lookup(key)
}

// share returns the module that answers for all of these files: m where there is none yet. m is locked.
func (r *registry) share(m *module, files *symsrc.Files) *module {
	all := sharedOf(m.key, files)
	if all != nil && m.all != nil && *all == *m.all {
		all = m.all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.all != nil && m.all != all && r.shared[*m.all] == m {
		delete(r.shared, *m.all)
	}
	m.all = all
	if all == nil {
		return m
	}
	first := r.shared[*all]
	if first == nil || first == m {
		r.shared[*all] = m
		return m
	}
	m.all = nil
	if r.modules[m.key] == m {
		n := &alias{all: first.all, found: files}
		n.checked.Store(time.Now().UnixNano())
		r.modules[m.key], r.aliases[m.key] = first, n
		r.last.Store(nil)
	}
	return first
}

// sharer returns the module that is going to answer for one that is not open yet, as far as that is known: m itself, or the one that
// has its files.
func (r *registry) sharer(m *module) *module {
	m.deadline.finding.Lock()
	files := m.deadline.found
	m.deadline.finding.Unlock()
	if files == nil {
		return m
	}
	all := sharedOf(m.key, files)
	if all == nil {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.shared[*all]; first != nil {
		return first
	}
	return m
}
