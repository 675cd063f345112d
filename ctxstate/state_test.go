package ctxstate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"qss-filter/markup"
)

// fill defines module 0 and maps n pages.
func fill(t testing.TB, p *Process, n int) {
	t.Helper()
	p.AddModule(markup.ModuleFields{Name: "m"})
	for i := range n {
		if _, err := p.AddMMap(markup.MMapFields{Start: uint64(i) << 12, Size: 0x1000, Mode: "r", Rel: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcess(t *testing.T) {
	s := New()
	p := s.Process("a")
	if s.Process("a") != p || s.Process("b") == p || s.Process("a") != p {
		t.Error("wrong process for a key")
	}
	fill(t, s.Process("b"), 1)
	fill(t, p, 1)
	s.Process("empty")
	if got := s.Processes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

// TestEviction checks that the least recently used process is evicted.
func TestEviction(t *testing.T) {
	s := New()
	s.limits.processes = 3
	for _, key := range []string{"a", "b", "c"} {
		fill(t, s.Process(key), 1)
	}
	b := s.Process("b")
	a := s.Process("a")
	generation := b.Generation()
	s.Process("c")
	s.Process("d") // evicts b
	if got := s.Processes(); !slices.Equal(got, []string{"c", "a"}) {
		t.Error(got)
	}
	if _, ok := a.Resolve(0); !ok { // a lookup is a use
		t.Error("a was evicted")
	}
	again := s.Process("b") // evicts c
	if again == b || again.Generation() == generation || again.Generation() == b.Generation() {
		t.Error("b is not a new process")
	}
	if got := s.Processes(); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
	// A process that was evicted may still be used by a caller that holds it.
	fill(t, b, 1)
	if s.Process("b") != b || len(s.processes) != 3 {
		t.Error("b was not added again")
	}
	if s.weight != 4 { // two mappings and their modules
		t.Errorf("weight %d", s.weight)
	}
}

func TestTotalOfMappings(t *testing.T) {
	s := New()
	s.limits.total = 110
	for i := range 30 {
		fill(t, s.Process(fmt.Sprint(i)), 10)
	}
	if got := s.Processes(); len(got) != 10 || got[9] != "20" || s.weight != 110 {
		t.Error(got, s.weight)
	}
	fill(t, s.Process("big"), 150) // a single process may exceed the total
	if got := s.Processes(); !slices.Equal(got, []string{"big"}) || s.weight != 151 {
		t.Error(got, s.weight)
	}
}

// TestEvictOlderHalf checks that the older half of the mappings or modules of a process is evicted.
func TestEvictOlderHalf(t *testing.T) {
	s := New()
	s.limits.mappings, s.limits.modules = 1000, 10
	p := s.Process("")
	fill(t, p, 1001)
	for page, want := range map[uint64]bool{0: false, 499: false, 500: true, 1000: true} {
		if _, ok := p.Resolve(page << 12); ok != want {
			t.Errorf("page %d: %v", page, ok)
		}
	}
	checkRanges(t, p)
	fill(t, p, 10000)
	if n := len(p.Mappings()); n > 1000 || n < 500 || s.weight != n+1 {
		t.Error(n, s.weight)
	}
	for id := range uint64(100) {
		p.AddModule(markup.ModuleFields{ID: id, Name: "new"})
		if m, ok := p.Module(id); !ok || m.Name != "new" || len(p.modules) > 10 {
			t.Fatal(id, m, len(p.modules))
		}
	}
}

// TestEvictPieces checks that all pieces of one mapping are evicted together.
func TestEvictPieces(t *testing.T) {
	s := New()
	s.limits.mappings = 20
	p := s.Process("")
	p.AddModule(markup.ModuleFields{})
	add := func(start, size uint64) {
		if _, err := p.AddMMap(markup.MMapFields{Start: start, Size: size}); err != nil {
			t.Fatal(err)
		}
	}
	add(0, 1000)
	for i := range uint64(10) {
		add(i*10+5, 1)
	}
	if n := len(p.Mappings()); n != 10 {
		t.Errorf("%d mappings:\n%s", n, dump(p))
	}
	checkRanges(t, p)
}

// TestLongNames checks the weights of modules with long names, and that the weight of an evicted process is subtracted.
func TestLongNames(t *testing.T) {
	s := New()
	s.limits = limits{processes: 100, total: 20000, mappings: 5000, modules: 2000}
	name := strings.Repeat("n", 4<<10)
	for i := range uint64(20000) {
		p := s.Process(fmt.Sprint(i % 7))
		switch i % 5 {
		case 0:
			p.AddModule(markup.ModuleFields{ID: i % 1000, Name: name + fmt.Sprint(i), BuildID: name[:64]})
		case 1, 2: // the module defined before, which is soon redefined
			if _, err := p.AddMMap(markup.MMapFields{Start: i << 12, Size: 0x1800, ModuleID: (i - 7) % 1000}); err != nil && !errors.Is(err, ErrUnknownModule) {
				t.Fatal(err)
			}
		case 3:
			add(p, fmt.Sprintf("%x-%x r-xp 00000000 00:00 1 /%s%d", 1<<40|i<<12, 1<<40|i<<12+0x1000, name[:4000], i), int(i))
		case 4:
			if i%1001 == 4 {
				p.Reset()
			}
		}
		if s.weight > 20000+5000+2000 {
			t.Fatalf("weight %d after %d steps", s.weight, i)
		}
	}
	bytes := 0
	for _, p := range s.processes {
		held := map[*Module]bool{}
		for _, m := range p.Mappings() {
			held[m.Module] = true
		}
		for m := range held {
			bytes += len(m.Name)
		}
		if p.mapped.weight != weightOf(p) || p.mapped.weight > 5000 {
			t.Errorf("weight of %d mappings: %d, want %d", p.mapped.len(), p.mapped.weight, weightOf(p))
		}
	}
	if bytes > 20000*128 {
		t.Errorf("%d bytes of names", bytes)
	}
	for _, p := range s.processes {
		s.evict(p)
	}
	if s.weight != 0 {
		t.Errorf("weight %d without processes", s.weight)
	}
}

// weightOf returns the total weight of the mappings of a process.
func weightOf(p *Process) (n int) {
	for _, m := range p.Mappings() {
		n += m.Module.weight()
	}
	return n
}

// TestModulesAlone checks the limits for processes with modules and no mappings.
func TestModulesAlone(t *testing.T) {
	s := New()
	s.limits = limits{processes: 100, total: 1000, mappings: 500, modules: 200}
	for i := range uint64(20000) {
		s.Process(fmt.Sprint(i % 90)).AddModule(markup.ModuleFields{ID: i, Name: "m"})
		if s.weight > 1200 {
			t.Fatalf("%d after %d", s.weight, i)
		}
	}
	n := 0
	for _, p := range s.processes {
		n += len(p.modules)
	}
	if n != s.weight {
		t.Errorf("%d modules, counted %d", n, s.weight)
	}
}
