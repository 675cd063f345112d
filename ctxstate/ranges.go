package ctxstate

import (
	"slices"
	"strings"

	"qss-filter/ctxstate/ordered"
)

// ranges holds mappings that do not overlap, sorted by address.
type ranges struct {
	mappings ordered.Table[*Mapping] // by Start
	weight   int                     // total weight of the mappings
}

// len returns the number of mappings.
func (r *ranges) len() int { return r.mappings.Len() }

// find returns the mapping that covers addr, or nil.
func (r *ranges) find(addr uint64) *Mapping {
	m := r.mappings.Get(r.mappings.Floor(addr))
	if m == nil || m.Last < addr {
		return nil
	}
	return m
}

// overlaps reports whether a mapping overlaps the addresses start…last.
func (r *ranges) overlaps(start, last uint64) bool {
	m := r.mappings.Get(r.mappings.Floor(last))
	return m != nil && m.Last >= start
}

// overlapping returns the mappings that overlap the addresses start…last.
func (r *ranges) overlapping(start, last uint64) []*Mapping {
	var all []*Mapping
	for p := r.mappings.Floor(last); ; p = r.mappings.Floor(all[len(all)-1].Start - 1) {
		m := r.mappings.Get(p)
		if m == nil || m.Last < start {
			return all
		}
		if all = append(all, m); m.Start == 0 {
			return all
		}
	}
}

// addFree adds m if it overlaps no other mapping, and reports whether it did.
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

// add adds m. It replaces the parts of other mappings that m overlaps.
func (r *ranges) add(m *Mapping) {
	r.clear(m.Start, m.Last)
	r.insert(m)
}

// clear removes the addresses start…last from all mappings. A mapping that extends beyond them is replaced with its remaining parts.
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

// insert inserts m, which must not overlap other mappings.
func (r *ranges) insert(m *Mapping) { r.insertAfter(r.mappings.Floor(m.Start), m) }

// insertAfter is insert for a known Floor of m.Start.
func (r *ranges) insertAfter(p ordered.Place, m *Mapping) {
	r.mappings.Insert(p, m.Start, m)
	r.weight += m.Module.weight()
}

// dropListed removes the mappings of a list, which are in first…last.
func (r *ranges) dropListed(first, last uint64) {
	r.mappings.DeleteFunc(first, last, func(m *Mapping) bool {
		if m.listed {
			r.weight -= m.Module.weight()
		}
		return m.listed
	})
}

// all returns the mappings, sorted by address.
func (r *ranges) all() []*Mapping { return r.mappings.All() }

// evictOlderHalf removes the half of the mappings that were added first. The parts of one mapping have the same age.
func (r *ranges) evictOlderHalf() {
	kept := r.all()
	ages := make([]uint64, len(kept))
	for i, m := range kept {
		ages[i] = m.age
	}
	slices.Sort(ages)
	oldest := ages[len(ages)/2]
	if oldest == ages[0] {
		oldest++ // more than half of them are parts of the oldest mapping
	}
	*r = ranges{}
	for _, m := range kept {
		if m.age >= oldest {
			r.insert(m)
		}
	}
}

// maxDisplaced bounds the number of mappings that are kept after newer ones have replaced them.
const maxDisplaced = 4096

// CutTo32 records that the log has only the low 32 bits of the process's addresses: LLVM's own stack traces print pointers with `%#016x`
// and a 32-bit conversion. Modules in different 4 GiB windows may then seem to overlap, and one that crosses the end of a window seems to
// exceed the address space. From now on, mappings are also kept if newer ones overlap them, and ResolveCut chooses among them.
func (p *Process) CutTo32() {
	if !p.cut {
		p.cut = true
		p.changed()
	}
}

// Cut reports whether CutTo32 was called since the last Reset.
func (p *Process) Cut() bool { return p.cut }

// ResolveCut returns the mapping of an address of which only the low 32 bits are known, and the address in it. An address of code is in an
// executable mapping. If several modules are still possible, the mapping is nil, because a guess must not name a function, and several
// is true.
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

// choose returns the choice after one more candidate m. In the arguments and the results, ok is set if there is a candidate; at is nil if
// several of them contradict each other.
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

// displace keeps the mappings that a new one will overlap, if CutTo32 was called.
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
