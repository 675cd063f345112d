package llvm

import (
	"qss-filter/ctxstate/ordered"
	"qss-filter/filter/print"
)

// space is the address space. Of several definitions of a module the first one counts, and so does the first of overlapping mappings.
type space struct {
	modules modules
	maps    ordered.Table[*mapping] // by where they start
	used    bool                    // a module was defined, perhaps before a reset
	// at is the mapping added last. The mappings of a module ascend.
	at ordered.Place
	// last is the mapping found last. The addresses of a stack lie together.
	last *mapping
	// generation changes with every module and mapping.
	generation uint64
	// slab is memory for mappings. A reset frees all of it.
	slab []mapping
}

// module is a module as markup defines it.
type module struct {
	id   uint64
	name string
	file *file
}

// mapping is a mapping of a module, at its address rel.
type mapping struct {
	start, size, rel uint64
	mode             string
	mod              *module
}

// contains reports whether an address lies in the mapping. None lies in a mapping that ends at 2^64, since its end is 0, as in
// llvm.
func (m *mapping) contains(addr uint64) bool { return m.start <= addr && addr < m.start+m.size }

// append appends a separator and `[0x1000-0x1fff](rx)`, without colors.
func (m *mapping) append(dst []byte, separator byte) []byte {
	return print.AppendRange(append(dst, separator), m.start, m.start+m.size-1, m.mode)
}

// modules is a table of modules by their ID. Loggers count the IDs from 0.
type modules struct {
	few  [64]*module
	many map[uint64]*module
	n    int
}

// of returns the module of that ID, or nil.
func (t *modules) of(id uint64) *module {
	if id < uint64(len(t.few)) {
		return t.few[id]
	}
	return t.many[id]
}

// put adds a module whose ID is new.
func (t *modules) put(m *module) {
	t.n++
	if m.id < uint64(len(t.few)) {
		t.few[m.id] = m
		return
	}
	if t.many == nil {
		t.many = map[uint64]*module{}
	}
	t.many[m.id] = m
}

func (t *modules) clear() {
	clear(t.few[:])
	t.many, t.n = nil, 0
}

// slabLen is for how many mappings memory is kept at a reset.
const slabLen = 1024

func (s *space) empty() bool { return s.modules.n == 0 && s.maps.Len() == 0 }

func (s *space) reset() {
	s.modules.clear()
	s.maps.Reset()
	s.slab, s.last, s.at = s.slab[:0], nil, ordered.Before
	s.generation++
}

// define adds a module whose ID is new.
func (s *space) define(m *module) {
	s.modules.put(m)
	s.used = true
	s.generation++
}

// find returns the mapping that covers addr, or nil.
func (s *space) find(addr uint64) *mapping {
	if s.last != nil && s.last.contains(addr) {
		return s.last
	}
	p := s.maps.Floor(addr)
	m := s.maps.Get(p)
	if m == nil {
		return nil
	}
	if !m.contains(addr) && m.start == addr {
		m = s.maps.Get(s.maps.Previous(p))
	}
	if m == nil || !m.contains(addr) {
		return nil
	}
	s.last = m
	return m
}

// add adds a mapping. If it overlaps another one, old is that, and nothing has changed. Empty mappings, and those that end at 2^64,
// do not overlap a mapping that starts at the same address. That one then stays, and is returned.
func (s *space) add(m *mapping) (in, old *mapping) {
	p := s.at
	below, above := s.maps.Get(p), s.maps.Get(s.maps.Next(p))
	if below != nil && below.start >= m.start || above != nil && above.start <= m.start {
		p = s.maps.Floor(m.start)
		below, above = s.maps.Get(p), s.maps.Get(s.maps.Next(p))
	}
	if above != nil && m.contains(above.start) {
		return nil, above
	}
	if below != nil && below.contains(m.start) {
		return nil, below
	}
	s.generation++
	if below != nil && below.start == m.start {
		return below, nil
	}
	in = s.allot()
	*in = *m
	s.at = s.maps.Insert(p, in.start, in)
	return in, nil
}

// allot returns memory for a mapping until the next reset.
func (s *space) allot() *mapping {
	n := len(s.slab)
	if n == cap(s.slab) { // the mappings in the full slab stay in its memory
		s.slab, n = make([]mapping, 0, max(32, min(2*n, slabLen))), 0
	}
	s.slab = s.slab[:n+1]
	return &s.slab[n]
}
