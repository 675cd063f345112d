package ctxstate

import (
	"slices"

	"qss-filter/ctxstate/ordered"
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
