package object

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/elf"
)

// A file that went beyond its budget is closed, and not opened again as long as it is what it was: it would cost as much again,
// for every module that leads to it, and whenever another module has taken its place in memory.

// refusal is such a file, and why it is not opened.
type refusal struct {
	path string
	part symsrc.Range
	stat fs.FileInfo
	why  *elf.StatusError
}

// stale reports whether the file on disk is another one by now.
func (r *refusal) stale() bool { return diskcache.Changed(r.path, r.stat) }

// refusals are those of a Source.
type refusals struct {
	mu  sync.Mutex
	all map[refusalKey]*refusal
}

type refusalKey struct {
	path string
	part symsrc.Range
}

// maxRefusals bounds those that are remembered.
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

// beyond reports whether a file of the module is beyond its budget.
func (m *module) beyond() bool {
	for _, f := range m.opened {
		if fault := f.fault.Load(); fault != nil && errors.Is(fault, budget.ErrExceeded) {
			return true
		}
	}
	return false
}

// refuse closes the files of a module of which one is beyond its budget, and remembers that one.
func (s *Source) refuse(m *module) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.beyond() { // it was closed meanwhile
		return
	}
	for _, f := range m.opened {
		if fault := f.fault.Load(); fault != nil && errors.Is(fault, budget.ErrExceeded) && f.stat != nil {
			s.refused.add(&refusal{f.path, f.part, f.stat, fault})
		}
	}
	m.close()
}

// refusal says why a file is not opened again; nil where it may be.
func (m *module) refusal(path string, part symsrc.Range) error {
	r := m.of.refused.get(path, part)
	if r == nil || r.stale() {
		return nil
	}
	m.kept = append(m.kept, r)
	return fmt.Errorf("%s: %w", part.Of(path), r.why)
}
