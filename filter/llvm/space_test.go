package llvm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// plainSpace is the address space as a list. Of mappings that overlap the first one counts.
type plainSpace []mapping

func (s plainSpace) find(addr uint64) *mapping {
	i, found := slices.BinarySearchFunc(s, addr, func(m mapping, addr uint64) int { return compareStarts(m.start, addr) })
	if found && s[i].contains(addr) {
		return &s[i]
	}
	if i > 0 && s[i-1].contains(addr) {
		return &s[i-1]
	}
	return nil
}

func (s *plainSpace) add(m mapping) (overlaps bool) {
	i, found := slices.BinarySearchFunc(*s, m.start, func(m mapping, addr uint64) int { return compareStarts(m.start, addr) })
	above := i
	if found {
		above++
	}
	if above < len(*s) && m.contains((*s)[above].start) || above > 0 && (*s)[above-1].contains(m.start) {
		return true
	}
	if !found {
		*s = slices.Insert(*s, i, m)
	}
	return false
}

func compareStarts(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestSpace compares the table of mappings with a plain list, for starts in several orders, and sizes that overlap, are
// empty, or end at 2^64.
func TestSpace(t *testing.T) {
	const count = 2048
	var s space
	s.reset()
	for name, start := range map[string]func(r *rand.Rand, i int) uint64{
		"ascending":  func(_ *rand.Rand, i int) uint64 { return uint64(i) << 12 },
		"descending": func(_ *rand.Rand, i int) uint64 { return uint64(count-i) << 12 },
		"random":     func(r *rand.Rand, _ int) uint64 { return r.Uint64N(2*count) << 11 },
		"in turns":   func(_ *rand.Rand, i int) uint64 { return uint64(i%7*count+i) << 12 },
		"the last":   func(r *rand.Rand, i int) uint64 { return -r.Uint64N(count) << 9 },
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var plain plainSpace
		s.reset()
		for i := range count {
			m := mapping{start: start(r, i), size: [...]uint64{0x1000, 0x1000, 0x800, 0, 0x3000}[r.IntN(5)]}
			if end := m.start + m.size; end < m.start {
				m.size = -m.start
			}
			_, old := s.add(&m)
			if overlaps := plain.add(m); overlaps != (old != nil) {
				t.Fatalf("%s: %#x+%#x overlaps: %v, want %v", name, m.start, m.size, old, overlaps)
			}
			addr := m.start + r.Uint64N(0x2000) - 0x800
			got, want := s.find(addr), plain.find(addr)
			if (got == nil) != (want == nil) || got != nil && (got.start != want.start || got.size != want.size) {
				t.Fatalf("%s: %#x is in %v, want %v", name, addr, got, want)
			}
		}
		if s.maps.Len() != len(plain) {
			t.Errorf("%s: %d mappings, want %d", name, s.maps.Len(), len(plain))
		}
	}
}
