package ctxstate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"qss-filter/markup"
)

// model is a simple implementation of Process: one cell for each address, which the last mapping sets.
type model struct {
	base  uint64
	cells []cell
}

type cell struct {
	module *Module
	rel    uint64
}

func (m *model) write(start, size uint64, module *Module, rel uint64) {
	for i := range size {
		m.cells[start-m.base+i] = cell{module, rel + i}
	}
}

// TestAgainstModel adds random mappings, dense and sparse, near both ends of the address space and in the middle, and compares every
// address.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		space := uint64(200 + 3000*(seed%3))
		m := model{base: [...]uint64{0, 1 << 40, -space}[seed/3%3], cells: make([]cell, space)}
		longest := [...]uint64{2, 20, 2 * space / 3}[seed/9%3]
		p := New().Process("")
		for step := range 700 {
			switch r.IntN(20) {
			case 0:
				p.AddModule(markup.ModuleFields{ID: r.Uint64N(5), Name: fmt.Sprint(step)})
			case 1:
				if r.IntN(20) == 0 {
					p.Reset()
					clear(m.cells)
				}
			}
			size := min(r.Uint64N(longest+1), space)
			start := m.base + r.Uint64N(space-size+1)
			f := markup.MMapFields{Start: start, Size: size, ModuleID: r.Uint64N(6), Mode: "r", Rel: r.Uint64()}
			if start == 0 && m.base != 0 { // size 0 at the end of the space, where the address wraps
				continue
			}
			before, generation := dump(p), p.Generation()
			if _, err := p.AddMMap(f); err != nil && p.modules[f.ModuleID] != nil {
				t.Fatal(err)
			}
			module, ok := p.Module(f.ModuleID)
			if !ok {
				f.Rel = 0
			}
			m.write(start, size, module, f.Rel)
			if (dump(p) != before) != (p.Generation() != generation) {
				t.Fatalf("seed %d step %d: generation", seed, step)
			}
		}
		m.compare(t, p, fmt.Sprint("seed ", seed))
	}
}

func (m *model) compare(t *testing.T, p *Process, name string) {
	t.Helper()
	for i, want := range m.cells {
		addr := m.base + uint64(i)
		got, ok := p.Resolve(addr)
		switch {
		case ok != (want.module != nil):
			t.Fatalf("%s: %#x covered %v", name, addr, ok)
		case ok && (got.Module != want.module || got.ModuleAddr(addr) != want.rel):
			t.Fatalf("%s: %#x is %+v, want %+v", name, addr, got, want)
		}
	}
	checkRanges(t, p)
}

// checkRanges checks the invariants of the mappings.
func checkRanges(t *testing.T, p *Process) {
	t.Helper()
	all := p.Mappings()
	for i, m := range all {
		if m.Last < m.Start || i > 0 && all[i-1].Last >= m.Start {
			t.Fatalf("%+v before %+v", all[max(0, i-1)], m)
		}
	}
	if p.mapped.len() != len(all) {
		t.Fatalf("%d mappings, counted %d", len(all), p.mapped.len())
	}
}

// TestManyMappings adds thousands of mappings in several orders, and one that covers them all.
func TestManyMappings(t *testing.T) {
	const n = 10000
	orders := map[string]func(i int) uint64{
		"ascending": func(i int) uint64 { return uint64(i) }, "descending": func(i int) uint64 { return uint64(n - 1 - i) },
		"scattered": func(i int) uint64 { return uint64(i) * 7919 % n },
	}
	for name, order := range orders {
		p := New().Process("")
		p.AddModule(markup.ModuleFields{ID: 1, Name: "m"})
		for i := range n {
			at := order(i)
			if _, err := p.AddMMap(markup.MMapFields{Start: at * 0x1000, Size: 0xfff, ModuleID: 1, Mode: "r", Rel: at}); err != nil {
				t.Fatal(err)
			}
		}
		checkRanges(t, p)
		for at := range uint64(n) {
			m, ok := p.Resolve(at*0x1000 + 0xffe)
			if _, gap := p.Resolve(at*0x1000 + 0xfff); !ok || m.Rel != at || gap {
				t.Fatalf("%s: %d", name, at)
			}
		}
		if _, err := p.AddMMap(markup.MMapFields{Start: 1, Size: n * 0x1000, ModuleID: 1, Mode: "r"}); err != nil {
			t.Fatal(err)
		}
		if got, want := dump(p), "0-0 m r 0\n1-2710000 m r 0\n"; got != want {
			t.Errorf("%s: %s", name, got)
		}
		checkRanges(t, p)
	}
}
