package ctxstate

import (
	"fmt"
	"slices"
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
		t.Error("a process is not its key's")
	}
	fill(t, s.Process("b"), 1)
	fill(t, p, 1)
	s.Process("empty")
	if got := s.Processes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

func TestTheProcessNotUsedForLongestIsForgotten(t *testing.T) {
	s := New()
	s.limits.processes = 3
	for _, key := range []string{"a", "b", "c"} {
		fill(t, s.Process(key), 1)
	}
	b := s.Process("b")
	a := s.Process("a")
	generation := b.Generation()
	s.Process("c")
	s.Process("d") // forgets b
	if got := s.Processes(); !slices.Equal(got, []string{"c", "a"}) {
		t.Error(got)
	}
	if _, ok := a.Resolve(0); !ok { // a look-up is a use
		t.Error("a is forgotten")
	}
	again := s.Process("b") // forgets c
	if again == b || again.Generation() == generation || again.Generation() == b.Generation() {
		t.Error("b does not begin anew")
	}
	if got := s.Processes(); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
	// Whoever holds a forgotten process may go on with it.
	fill(t, b, 1)
	if s.Process("b") != b || len(s.processes) != 3 {
		t.Error("b is not taken up again")
	}
	if s.mappings != 2 {
		t.Errorf("%d mappings are counted", s.mappings)
	}
}

func TestTotalOfMappings(t *testing.T) {
	s := New()
	s.limits.total = 100
	for i := range 30 {
		fill(t, s.Process(fmt.Sprint(i)), 10)
	}
	if got := s.Processes(); len(got) != 10 || got[9] != "20" || s.mappings != 100 {
		t.Error(got, s.mappings)
	}
	fill(t, s.Process("big"), 150) // alone it may be larger: its own limit counts
	if got := s.Processes(); !slices.Equal(got, []string{"big"}) || s.mappings != 150 {
		t.Error(got, s.mappings)
	}
}

func TestTheOlderHalfOfAProcessIsForgotten(t *testing.T) {
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
	if n := len(p.Mappings()); n > 1000 || n < 500 || s.mappings != n {
		t.Error(n, s.mappings)
	}
	for id := range uint64(100) {
		p.AddModule(markup.ModuleFields{ID: id, Name: "new"})
		if m, ok := p.Module(id); !ok || m.Name != "new" || len(p.modules) > 10 {
			t.Fatal(id, m, len(p.modules))
		}
	}
}

// One mapping in many pieces is all of one age.
func TestForgetPieces(t *testing.T) {
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
