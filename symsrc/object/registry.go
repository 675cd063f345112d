package object

import (
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// registry holds the modules of a Source by their names.
//
// A library may have many names, for example a different one in each container: the verified files of a build are opened and read once
// for all of them. The Files in answers depend on the name, because they say where the library was searched.
type registry struct {
	of    *Source
	clock atomic.Int64 // counts queries, for the eviction of the least recently used module
	last  atomic.Pointer[lastModule]

	mu      sync.Mutex
	modules map[symsrc.Module]*module
	aliases map[symsrc.Module]*alias // the names of modules except their first ones
	shared  map[sharedFiles]*module  // the module that answers for all modules with these files
	open    map[*module]bool         // the modules that may have open files
}

// lastModule is the module of the last query. It is found without a lock, because consecutive queries are often about the same
// module.
type lastModule struct {
	key symsrc.Module
	*module
	alias *alias
}

// module returns the module with a name, which may not be loaded.
func (r *registry) module(key symsrc.Module) *module {
	m, _ := r.lookup(key)
	return m
}

// lookup returns the module with a name, which may not be loaded, and the alias if the name is not the module's first one.
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

// forgetModules removes all modules without open files, and all aliases.
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

// evict closes the files of the least recently used modules, except keep, until the limits are met.
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
		if !oldest.mu.TryLock() { // it is in use
			busy[oldest] = true
			continue
		}
		oldest.close()
		oldest.mu.Unlock()
	}
}

// sharedFiles identifies files that several modules share, and their errors.
type sharedFiles struct {
	id                     symsrc.BuildID
	elf, debug             string
	elfRange, debugRange   symsrc.Range
	elfStatus, debugStatus symsrc.Status
	note                   string
}

// sharedOf returns the files that a module may share with others, or nil.
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

// opens reports whether a file with a status can be opened.
func opens(status symsrc.Status) bool { return status == symsrc.OK || status == symsrc.Incomplete }

// alias is an additional name of a module, with the files that were found by it.
type alias struct {
	all     *sharedFiles
	found   *symsrc.Files
	checked atomic.Int64 // time of the last check for changes on disk, in Unix nanoseconds
}

// files returns the module's Files for answers under this name. The module is locked.
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

// stale reports whether the name may no longer refer to the module's files. The module is locked.
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

// renamed removes a stale alias, and looks the name up again.
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

// share returns the module that answers for all modules with these files: m if it is the first one. m is locked.
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

// sharer returns the module that will answer for m, which is not open: the one that has the files that were found for m, or m itself.
func (r *registry) sharer(m *module) *module {
	files := m.deadline.lastFound()
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
