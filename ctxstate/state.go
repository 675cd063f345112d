// Package ctxstate stores the modules and mappings of each process in a log, and finds the module of an address and the address in that
// module. It only stores state: packages markup and mappings parse the log.
//
// state.go has the processes, their limits, their modules and their mappings; ranges.go the mappings of a process by address, and
// addresses of which only the low 32 bits are known; list.go the lists of mappings.
package ctxstate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"qss-filter/markup"
	"qss-filter/symsrc"
)

// limits bound the memory for a log.
type limits struct {
	// processes bounds the number of processes. Beyond it the least recently used one is evicted.
	processes int
	// total bounds the total weight of all processes. Beyond it processes are evicted, too.
	total int
	// mappings and modules bound the weights of the mappings and modules of one process. Beyond them the older half is evicted: its
	// addresses are no longer resolved, which is not a wrong answer.
	mappings, modules int
}

// weight returns the weight of a module, or of a mapping of it, in units of about 100 bytes. It depends on the length of the name.
func (m *Module) weight() int { return 1 + (len(m.Name)+len(m.BuildID))>>7 }

// State holds the processes of one stream. It is not safe for concurrent use.
type State struct {
	limits    limits
	processes map[string]*Process
	// used is the sentinel of a ring in order of use: next is the most recently used process, prev the least recently used one.
	used   Process
	weight int // total weight of all processes
	// generation numbers the changes of all processes, so that the generations of a process that was evicted and created again do not
	// repeat.
	generation uint64
}

// New returns a State without processes.
func New() *State {
	s := &State{
		limits:    limits{processes: 4096, total: 1 << 20, mappings: 1 << 18, modules: 1 << 16},
		processes: make(map[string]*Process),
	}
	s.used.next, s.used.prev = &s.used, &s.used
	return s
}

// Process returns the process with a key, which is created on first use. At most 4096 are kept; one that was evicted is empty again.
func (s *State) Process(key string) *Process {
	p := s.used.next
	if p != &s.used && p.key == key {
		return p
	}
	if p = s.processes[key]; p == nil {
		p = &Process{state: s, key: key}
		p.changed()
	}
	p.touch()
	return p
}

// Processes returns the keys of the processes that have modules or mappings, the most recently used one first.
func (s *State) Processes() []string {
	var keys []string
	for p := s.used.next; p != &s.used; p = p.next {
		if !p.empty() {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// evict clears and removes a process. A caller may still use it: then it is added again.
func (s *State) evict(p *Process) {
	p.Reset()
	p.before, p.slab, p.list, p.mapped = nil, nil, nil, ranges{}
	p.weigh()
	p.unlink()
	delete(s.processes, p.key)
}

// shrink evicts the least recently used processes, except keep, until their total weight is within the limit.
func (s *State) shrink(keep *Process) {
	for p := s.used.prev; s.weight > s.limits.total && p != &s.used; {
		older := p
		p = p.prev
		if older != keep {
			s.evict(older)
		}
	}
}

// touch makes p the most recently used process.
func (p *Process) touch() {
	s := p.state
	if s.used.next == p {
		return
	}
	if p.next != nil {
		p.unlink()
	} else {
		if other := s.processes[p.key]; other != nil {
			s.evict(other)
		} else if len(s.processes) == s.limits.processes {
			s.evict(s.used.prev)
		}
		s.processes[p.key] = p
	}
	p.next, p.prev = s.used.next, &s.used
	p.next.prev, p.prev.next = p, p
}

// unlink removes p from the ring.
func (p *Process) unlink() {
	p.next.prev, p.prev.next = p.prev, p.next
	p.next, p.prev = nil, nil
}

// Weight returns the total weight of all processes: the number of modules and mappings, of which those with long names count more.
func (s *State) Weight() int { return s.weight }

// Errors of AddMMap.
var (
	// ErrUnknownModule is the error of an mmap whose module ID is not defined.
	ErrUnknownModule = errors.New("unknown module ID")
	// ErrRange is the error of an mmap that exceeds the address space.
	ErrRange = errors.New("range beyond the end of the address space")
)

// Module is a module's definition. It does not change.
type Module struct {
	ID uint64
	// Name is the file's path or name; it may be empty. Written is the text in the log if that has octal escapes, otherwise "".
	Name, Written string
	// BuildID is raw bytes.
	BuildID string

	age uint64 // Process.age when it was defined
}

// Mapping is a range of addresses at which a module is mapped. It does not change until the process is reset; then its memory is
// reused.
type Mapping struct {
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	Module      *Module
	// Mode is one or more of "rwx", in this order.
	Mode string
	// Rel is the address in the module's own address space (p_vaddr) of Start.
	Rel uint64
	// Space is the space of Rel. For mmap elements of markup it is the module's own address space.
	Space symsrc.Space

	listed bool   // it is from a list of mappings, which the next list replaces
	age    uint64 // Process.age when it was added
}

// ModuleAddr returns the address in the module's own address space of an address in the process.
func (m *Mapping) ModuleAddr(addr uint64) uint64 { return addr - m.Start + m.Rel }

// Process is the context of one process: its modules and their mappings. If several mappings cover an address, the newest one counts.
type Process struct {
	state      *State
	key        string
	next, prev *Process
	modules    map[uint64]*Module
	before     map[uint64]*Module // the modules before the reset, because the next process often has the same ones
	mapped     ranges
	slab       []Mapping // memory for mappings
	last       *Mapping  // the last answer of Resolve, because consecutive addresses are often in the same mapping
	generation uint64
	age        uint64     // counts definitions and mappings
	defined    int        // weight of modules
	weight     int        // total weight, as included in State.weight
	cut        bool       // see CutTo32
	displaced  []*Mapping // if cut is set: mappings that newer ones have replaced
	list       *snapshot  // the last list of mappings
}

// Reset removes all modules and mappings, and reports whether there were any.
func (p *Process) Reset() bool {
	if p.empty() {
		return false
	}
	p.modules, p.before = p.before, p.modules
	if p.defined > keptModules {
		p.before = nil
	}
	clear(p.modules)
	p.defined = 0
	p.mapped.reset()
	p.slab = p.slab[:0]
	p.cut, p.displaced, p.list = false, nil, nil
	p.weigh()
	p.changed()
	return true
}

// Empty reports whether the process has no modules and mappings.
func (p *Process) Empty() bool { return p.empty() }

// keptModules is the largest weight of modules that are kept after a reset, and slabLen the number of mappings that are allocated at once.
const (
	keptModules = 256
	slabLen     = 64
)

func (p *Process) empty() bool { return len(p.modules) == 0 && p.mapped.len() == 0 }

// AddModule defines a module. If its ID had another definition, AddModule returns that one: its mappings remain until newer ones overlap
// them, but mappings added from now on are of the new module. It returns nil for a new ID, and if the definition is the same.
func (p *Process) AddModule(m markup.ModuleFields) (replaced *Module) {
	p.touch()
	old := p.modules[m.ID]
	if old != nil && old.Name == m.Name && old.BuildID == m.BuildID {
		return nil
	}
	if p.modules == nil {
		p.modules = make(map[uint64]*Module)
	}
	if old == nil && p.defined >= p.state.limits.modules {
		p.evictModules()
	}
	p.age++
	added := p.before[m.ID]
	if added == nil || added.Name != m.Name || added.BuildID != m.BuildID {
		added = &Module{ID: m.ID, Name: m.Name, BuildID: m.BuildID}
	}
	added.age = p.age
	p.modules[m.ID] = added
	if p.defined += added.weight(); old != nil {
		p.defined -= old.weight()
	}
	p.weigh()
	p.state.shrink(p)
	p.changed()
	return old
}

// evictModules removes the older half of the definitions.
func (p *Process) evictModules() {
	ages := make([]uint64, 0, len(p.modules))
	for _, m := range p.modules {
		ages = append(ages, m.age)
	}
	slices.Sort(ages)
	oldest := ages[len(ages)/2]
	maps.DeleteFunc(p.modules, func(_ uint64, m *Module) bool {
		if m.age < oldest {
			p.defined -= m.weight()
		}
		return m.age < oldest
	})
}

// AddMMap maps a range of addresses. It replaces the parts of older mappings in the range. It returns the current mapping: the new one, or
// an older one that is the same. If the size is 0, the mapping covers nothing, and its Last is one below its Start. A range may end at the
// last address, 2^64-1.
//
// After an error, which wraps ErrUnknownModule or ErrRange, nothing is mapped. If the module is unknown, the range is still cleared,
// because something else is mapped there now.
func (p *Process) AddMMap(m markup.MMapFields) (*Mapping, error) {
	if m.Size != 0 && m.Size-1 > math.MaxUint64-m.Start {
		return nil, fmt.Errorf("mmap %#x of %#x bytes: %w", m.Start, m.Size, ErrRange)
	}
	p.touch()
	module := p.modules[m.ModuleID]
	last := m.Start + m.Size - 1
	if module == nil {
		if m.Size != 0 && p.mapped.overlaps(m.Start, last) {
			p.update(func() { p.mapped.clear(m.Start, last) })
		}
		return nil, fmt.Errorf("mmap %#x: %w %#x", m.Start, ErrUnknownModule, m.ModuleID)
	}
	p.age++
	added := p.allot()
	*added = Mapping{Start: m.Start, Last: last, Module: module, Mode: mode(m.Mode), Rel: m.Rel, age: p.age}
	if m.Size == 0 {
		return added, nil
	}
	if p.mapped.addFree(added) {
		p.weigh()
		p.changed()
	} else {
		if old := p.mapped.find(m.Start); old != nil && old.same(added) {
			old.age = p.age
			return old, nil
		}
		p.displace(added)
		p.update(func() { p.mapped.add(added) })
	}
	p.limit()
	return added, nil
}

// allot returns memory for a mapping, valid until the next reset.
func (p *Process) allot() *Mapping {
	n := len(p.slab)
	if n == cap(p.slab) { // mappings in the full slab remain there
		p.slab, n = make([]Mapping, 0, slabLen), 0
	}
	p.slab = p.slab[:n+1]
	return &p.slab[n]
}

// same reports whether two mappings are the same except for their age.
func (m *Mapping) same(o *Mapping) bool {
	return m.Start == o.Start && m.Last == o.Last && m.Module == o.Module && m.Mode == o.Mode && m.Rel == o.Rel
}

// mode returns the mode as a constant, so that the memory of the log line is not retained.
func mode(s string) string {
	for _, known := range [...]string{"r", "rx", "rw", "rwx", "x", "w", "wx"} {
		if s == known {
			return known
		}
	}
	return s
}

// update runs a function that changes the mappings.
func (p *Process) update(change func()) {
	change()
	p.weigh()
	p.changed()
}

// limit evicts mappings and processes if the limits are exceeded.
func (p *Process) limit() {
	if p.mapped.weight > p.state.limits.mappings {
		p.update(p.mapped.evictOlderHalf)
	}
	p.state.shrink(p)
}

// weigh updates the weight of the process and the total weight.
func (p *Process) weigh() {
	now := p.mapped.weight + p.defined + len(p.displaced)
	if p.list != nil {
		now += p.list.weight
	}
	p.state.weight += now - p.weight
	p.weight = now
}

// changed begins a new generation.
func (p *Process) changed() {
	p.last = nil
	p.state.generation++
	p.generation = p.state.generation
}

// Resolve returns the mapping that covers an address, or false if there is none.
func (p *Process) Resolve(addr uint64) (*Mapping, bool) {
	if m := p.last; m != nil && m.Start <= addr && addr <= m.Last {
		return m, true
	}
	p.touch()
	m := p.mapped.find(addr)
	if m == nil {
		return nil, false
	}
	p.last = m
	return m, true
}

// Generation returns a number that changes with every change of the process's modules and mappings: while it is the same, Resolve returns
// the same answers. It is unique among the processes of a State.
func (p *Process) Generation() uint64 { return p.generation }

// Module returns the current definition of a module ID, or false if there is none.
func (p *Process) Module(id uint64) (*Module, bool) {
	m, ok := p.modules[id]
	return m, ok
}

// Modules returns the current definitions, sorted by ID.
func (p *Process) Modules() []*Module {
	return slices.SortedFunc(maps.Values(p.modules), func(a, b *Module) int { return cmp.Compare(a.ID, b.ID) })
}

// Mappings returns the current mappings, sorted by address.
func (p *Process) Mappings() []*Mapping { return p.mapped.all() }
