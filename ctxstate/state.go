// Package ctxstate keeps, for each process of a log, which modules there are and which addresses they are mapped at; and it answers
// which module an address belongs to and where in it the address lies. It keeps state only: packages markup and mappings read what a log
// says.
//
// state.go holds the processes with their limits, their modules and their mappings; ranges.go the mappings of one by address, the
// lists of mappings that replace each other, and addresses that have lost their upper half.
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

// limits bound the memory that a log can take.
type limits struct {
	// processes are kept; beyond it the one that was used least recently is evicted.
	processes int
	// total bounds the weight of all processes together; beyond it processes are evicted too.
	total int
	// mappings and modules are weights of one process. Beyond them the older half is evicted: its addresses are not
	// resolved any more, which is no wrong answer.
	mappings, modules int
}

// weight is what a module counts, or a mapping of it: 1, which is about 100 bytes, and more where its name is long.
func (m *Module) weight() int { return 1 + (len(m.Name)+len(m.BuildID))>>7 }

// State holds the processes of one stream. It serves one goroutine.
type State struct {
	limits    limits
	processes map[string]*Process
	// used is the sentinel of a ring in order of use: next is the latest, prev the oldest.
	used   Process
	weight int // of all processes
	// generation numbers the changes of all processes, so that one which is evicted and begun again does not count again
	// from the start.
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

// Process returns the process of a key, which is created on first use. At most 4096 are kept; one that has been
// evicted begins again.
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

// Processes returns the keys of the processes that have any context, the one used last first.
func (s *State) Processes() []string {
	var keys []string
	for p := s.used.next; p != &s.used; p = p.next {
		if !p.empty() {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// evict clears a process and removes it. A caller that still holds it may use it on: then it is kept again.
func (s *State) evict(p *Process) {
	p.Reset()
	p.before, p.slab, p.list, p.mapped = nil, nil, nil, ranges{}
	p.weigh()
	p.unlink()
	delete(s.processes, p.key)
}

// shrink evicts the processes that were used least recently, but not keep, until all together are within the limit.
func (s *State) shrink(keep *Process) {
	for p := s.used.prev; s.weight > s.limits.total && p != &s.used; {
		older := p
		p = p.prev
		if older != keep {
			s.evict(older)
		}
	}
}

// touch makes p the process used last.
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

func (p *Process) unlink() {
	p.next.prev, p.prev.next = p.prev, p.next
	p.next, p.prev = nil, nil
}

// Weight returns how many modules and mappings are kept, of all processes, where those with long names count more.
func (s *State) Weight() int { return s.weight }

// Errors of AddMMap.
var (
	// ErrUnknownModule is an mmap whose module ID is not defined.
	ErrUnknownModule = errors.New("unknown module ID")
	// ErrRange is an mmap that goes beyond the end of the address space.
	ErrRange = errors.New("range beyond the end of the address space")
)

// Module is a module's definition. It does not change.
type Module struct {
	ID uint64
	// Name is the file's path or name; it may be empty. Written is what the log has, if that has octal escapes, and "" otherwise.
	Name, Written string
	// BuildID is raw bytes.
	BuildID string

	age uint64 // the order of definitions
}

// Mapping is a range of addresses that a module is mapped at. It does not change until the process is reset; then its
// memory is used again.
type Mapping struct {
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	Module      *Module
	// Mode is one or more of "rwx", in this order.
	Mode string
	// Rel is the address in the module's own address space (p_vaddr) of Start.
	Rel uint64
	// Space says what Rel counts from: mmap elements of markup state addresses of the module's own address space.
	Space symsrc.Space

	listed bool   // from a list of mappings, which the next one replaces
	age    uint64 // the order of mappings
}

// ModuleAddr returns the address in the module's own address space of an address in the process.
func (m *Mapping) ModuleAddr(addr uint64) uint64 { return addr - m.Start + m.Rel }

// Process is the context of one process: its modules, and where they are mapped. Of several statements on one address
// the newest counts.
type Process struct {
	state      *State
	key        string
	next, prev *Process
	modules    map[uint64]*Module
	before     map[uint64]*Module // those before the reset: the next process often has the same
	mapped     ranges
	slab       []Mapping // memory for mappings
	last       *Mapping  // the answer before, for a stack's addresses lie together
	generation uint64
	age        uint64
	defined    int        // the weight of modules
	weight     int        // of all, as the state's sum has it
	cut        bool       // addresses have lost their upper half
	displaced  []*Mapping // with cut addresses: what newer mappings have overlapped
	list       *snapshot  // the list of mappings that was printed last
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

// Empty reports whether nothing is known of the process.
func (p *Process) Empty() bool { return p.empty() }

// keptModules is what modules may weigh to be used again after a reset, and slabLen how many mappings share
// a piece of memory.
const (
	keptModules = 256
	slabLen     = 64
)

func (p *Process) empty() bool { return len(p.modules) == 0 && p.mapped.len() == 0 }

// AddModule defines a module. Where its ID has had another definition, that one is returned: its mappings stay as they
// are until they are overlapped, but mappings added from now on are of the new module. The result is nil for a new ID, and
// where nothing changes.
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

// evictModules evicts the older half of the definitions.
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

// AddMMap maps a range of addresses. What older mappings say of the range is dropped, the rest of them stays. The result
// is the mapping in force: an earlier one that says the same, or the new one. For a size of 0 it covers nothing, and its
// Last is one below its Start. A range may end at the last address there is, 2^64-1.
//
// An error, which wraps ErrUnknownModule or ErrRange, maps nothing. With an unknown module the range is cleared
// nevertheless: something different is there now.
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

// allot returns memory for a mapping until the next reset.
func (p *Process) allot() *Mapping {
	n := len(p.slab)
	if n == cap(p.slab) { // what is in the full one stays where it is
		p.slab, n = make([]Mapping, 0, slabLen), 0
	}
	p.slab = p.slab[:n+1]
	return &p.slab[n]
}

func (m *Mapping) same(o *Mapping) bool {
	return m.Start == o.Start && m.Last == o.Last && m.Module == o.Module && m.Mode == o.Mode && m.Rel == o.Rel
}

// mode returns the mode without keeping the log line that it was cut from.
func mode(s string) string {
	for _, known := range [...]string{"r", "rx", "rw", "rwx", "x", "w", "wx"} {
		if s == known {
			return known
		}
	}
	return s
}

// update runs a change of the mappings.
func (p *Process) update(change func()) {
	change()
	p.weigh()
	p.changed()
}

// limit evicts what is beyond the limits.
func (p *Process) limit() {
	if p.mapped.weight > p.state.limits.mappings {
		p.update(p.mapped.evictOlderHalf)
	}
	p.state.shrink(p)
}

// weigh brings the state's sum up to date.
func (p *Process) weigh() {
	now := p.mapped.weight + p.defined + len(p.displaced)
	if p.list != nil {
		now += p.list.weight
	}
	p.state.weight += now - p.weight
	p.weight = now
}

func (p *Process) changed() {
	p.last = nil
	p.state.generation++
	p.generation = p.state.generation
}

// Resolve finds the mapping that covers an address.
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

// Generation changes with every change of the process's modules and mappings: while it is the same, Resolve answers as
// before. No two processes of a State share a value.
func (p *Process) Generation() uint64 { return p.generation }

// Module returns the definition of a module ID that is in force.
func (p *Process) Module(id uint64) (*Module, bool) {
	m, ok := p.modules[id]
	return m, ok
}

// Modules returns the definitions in force, by ascending ID.
func (p *Process) Modules() []*Module {
	return slices.SortedFunc(maps.Values(p.modules), func(a, b *Module) int { return cmp.Compare(a.ID, b.ID) })
}

// Mappings returns the mappings in force, by ascending address.
func (p *Process) Mappings() []*Mapping { return p.mapped.all() }
