package ctxstate

import (
	"slices"
	"strings"

	"qss-filter/ctxstate/ordered"
	"qss-filter/symsrc"
)

// ranges holds mappings that do not overlap, in the order of their addresses.
type ranges struct {
	mappings ordered.Table[*Mapping] // by their first address
	weight   int                     // of all mappings
}

func (r *ranges) len() int { return r.mappings.Len() }

// find returns the mapping that covers addr, or nil.
func (r *ranges) find(addr uint64) *Mapping {
	m := r.mappings.Get(r.mappings.Floor(addr))
	if m == nil || m.Last < addr {
		return nil
	}
	return m
}

// overlaps reports whether any mapping has an address of start…last.
func (r *ranges) overlaps(start, last uint64) bool {
	m := r.mappings.Get(r.mappings.Floor(last))
	return m != nil && m.Last >= start
}

// addFree puts m in if nothing is known of its addresses yet, and reports whether it did.
func (r *ranges) addFree(m *Mapping) bool {
	p := r.mappings.Floor(m.Start)
	if below := r.mappings.Get(p); below != nil && below.Last >= m.Start {
		return false
	}
	if above := r.mappings.Get(r.mappings.Next(p)); above != nil && above.Start <= m.Last {
		return false
	}
	r.insertAfter(p, m)
	return true
}

// reset removes all mappings.
func (r *ranges) reset() {
	r.mappings.Reset()
	r.weight = 0
}

// add puts m in, in place of what was known of its addresses.
func (r *ranges) add(m *Mapping) {
	r.clear(m.Start, m.Last)
	r.insert(m)
}

// clear takes the addresses start…last out of all mappings. A mapping that reaches beyond them is replaced by what is left
// of it, on one side or on both.
func (r *ranges) clear(start, last uint64) {
	for {
		p := r.mappings.Floor(last)
		old := r.mappings.Get(p)
		if old == nil || old.Last < start {
			return
		}
		r.mappings.Remove(p)
		r.weight -= old.Module.weight()
		if old.Last > last {
			right := *old
			right.Start, right.Rel = last+1, old.ModuleAddr(last+1)
			r.insert(&right)
		}
		if old.Start < start {
			left := *old
			left.Last = start - 1
			r.insert(&left)
			return
		}
	}
}

func (r *ranges) insert(m *Mapping) { r.insertAfter(r.mappings.Floor(m.Start), m) }

func (r *ranges) insertAfter(p ordered.Place, m *Mapping) {
	r.mappings.Insert(p, m.Start, m)
	r.weight += m.Module.weight()
}

// dropListed removes what is left of a list of mappings, which lies within first…last.
func (r *ranges) dropListed(first, last uint64) {
	r.mappings.DeleteFunc(first, last, func(m *Mapping) bool {
		if m.listed {
			r.weight -= m.Module.weight()
		}
		return m.listed
	})
}

// all returns the mappings in order.
func (r *ranges) all() []*Mapping { return r.mappings.All() }

// evictOlderHalf keeps the half of the mappings that were added last. Parts of one mapping are of one age.
func (r *ranges) evictOlderHalf() {
	kept := r.all()
	ages := make([]uint64, len(kept))
	for i, m := range kept {
		ages[i] = m.age
	}
	slices.Sort(ages)
	oldest := ages[len(ages)/2]
	if oldest == ages[0] {
		oldest++ // one mapping cut to pieces is the better half
	}
	*r = ranges{}
	for _, m := range kept {
		if m.age >= oldest {
			r.insert(m)
		}
	}
}

// maxDisplaced bounds the mappings that are kept after newer ones have taken their place.
const maxDisplaced = 4096

// CutTo32 notes that the process's addresses have lost all but their low 32 bits: LLVM's own stack traces print pointers
// with `%#016x` through a 32-bit conversion. Modules from different 4 GiB windows may then seem to overlap, and one that
// crosses a window's end seems to leave the address space; from now on mappings are kept though newer ones overlap them,
// for ResolveCut to choose from.
func (p *Process) CutTo32() {
	if !p.cut {
		p.cut = true
		p.changed()
	}
}

// Cut reports whether CutTo32 was called since the last Reset.
func (p *Process) Cut() bool { return p.cut }

// ResolveCut finds the mapping of an address that was cut. Of several that fit, an address of code belongs to the one that
// is executable; if modules still contradict each other there is none, since no guess may name a function, and several is
// true.
func (p *Process) ResolveCut(addr uint64, code bool) (at *Mapping, full uint64, several bool) {
	ok := false
	for _, a := range [...]uint64{addr, addr + 1<<32} {
		if m := p.mapped.find(a); m != nil {
			at, full, ok = choose(at, full, ok, m, a, code)
		}
		for _, m := range p.displaced {
			if m.Start <= a && a <= m.Last {
				at, full, ok = choose(at, full, ok, m, a, code)
			}
		}
	}
	return at, full, ok && at == nil
}

// choose weighs one more mapping against the one found so far: at is nil and ok true where two contradict each other.
func choose(at *Mapping, full uint64, ok bool, m *Mapping, addr uint64, code bool) (*Mapping, uint64, bool) {
	if code && !strings.Contains(m.Mode, "x") {
		return at, full, ok
	}
	switch {
	case !ok:
		return m, addr, true
	case at == nil || at.Module == m.Module && at.ModuleAddr(full) == m.ModuleAddr(addr):
		return at, full, ok
	}
	return nil, 0, true
}

// displace keeps the mappings that a new one of a process with cut addresses is about to overlap.
func (p *Process) displace(added *Mapping) {
	if !p.cut || len(p.displaced) >= maxDisplaced {
		return
	}
	for _, m := range p.mapped.all() {
		if m.Start <= added.Last && added.Start <= m.Last && m.Module != added.Module && len(p.displaced) < maxDisplaced {
			p.displaced = append(p.displaced, m)
		}
	}
}

// Listed is what a line of a list of mappings says.
type Listed struct {
	// List tells layouts of lists apart.
	List uint8
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	// Space says what the module's addresses in the mapping count from; Offset is that of Start, if the list has one.
	Space  symsrc.Space
	Offset uint64
	Mode   string
	// Module is set if a file is mapped. Path is its name, and Written that as the log has it, if it differs.
	Module        bool
	Path, Written []byte
	// BuildID is raw bytes.
	BuildID string
}

// snapshot is what is known of the list of mappings that a process printed last. A list is a snapshot: the next one replaces it.
type snapshot struct {
	layout uint8
	line   int
	start  uint64
	// base is the lowest address of each module, for lists without offsets.
	base    map[string]uint64
	modules map[string]*Module
	weight  int    // of modules
	last    uint64 // the last address of any
	first   uint64 // the first one
}

// maxGap is how many lines may stand between two mappings of one list.
const maxGap = 64

// AddListed takes what a line of a list of mappings says. line is its number in the log: a mapping far below the last one, at a
// lower address, or of another layout, begins another list.
func (p *Process) AddListed(m *Listed, line int) {
	p.touch()
	l := p.list
	if l == nil || l.layout != m.List || m.Start <= l.start || line-l.line > maxGap || line < l.line {
		p.DropList()
		l = &snapshot{layout: m.List, first: m.Start, base: map[string]uint64{}, modules: map[string]*Module{}}
		p.list = l
	}
	l.line, l.start, l.last = line, m.Start, max(l.last, m.Last)
	if m.Module {
		p.mapListed(l, m)
	}
}

// mapListed puts a mapping of the list into force.
func (p *Process) mapListed(l *snapshot, m *Listed) {
	name := string(m.Path)
	module := l.modules[name]
	if module == nil {
		if l.weight >= p.state.limits.modules {
			return
		}
		p.age++
		module = &Module{ID: uint64(len(l.modules)), Name: name, Written: string(m.Written), BuildID: m.BuildID, age: p.age}
		l.modules[name], l.base[name] = module, m.Start
		l.weight += module.weight()
	}
	p.age++
	added := &Mapping{Start: m.Start, Last: m.Last, Module: module, Mode: m.Mode, Rel: m.Offset, Space: m.Space, age: p.age, listed: true}
	if m.Space == symsrc.InImage {
		added.Rel = m.Start - l.base[name]
	}
	p.update(func() { p.mapped.add(added) })
	p.limit()
}

// LastListed returns the mapping that the last line of a list has stated, or nil where it stated none of a file.
func (p *Process) LastListed() *Mapping {
	if p.list == nil {
		return nil
	}
	if at := p.mapped.find(p.list.start); at != nil && at.listed && at.Start == p.list.start {
		return at
	}
	return nil
}

// Listed reports whether the process has printed a list of its mappings.
func (p *Process) Listed() bool { return p.list != nil }

// TakeList replaces the list of mappings of the process by that of another one, which has none then.
func (p *Process) TakeList(from *Process) {
	p.DropList()
	if p == from || from.list == nil {
		return
	}
	list := from.list
	taken := slices.DeleteFunc(from.mapped.all(), func(m *Mapping) bool { return !m.listed })
	from.DropList()
	p.touch()
	p.age, p.list = max(p.age, from.age), list
	p.update(func() {
		for _, m := range taken {
			p.mapped.add(m)
		}
	})
	p.limit()
}

// DropList removes the mappings of the last list.
func (p *Process) DropList() {
	if p.list == nil {
		return
	}
	first, last := p.list.first, p.list.last
	p.list = nil
	p.update(func() { p.mapped.dropListed(first, last) })
}
