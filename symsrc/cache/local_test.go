//go:build linux || darwin

package cache

import (
	"context"
	"testing"

	"qss-filter/symsrc"
)

// TestLocalCode holds that a module whose code lies on this machine, without debug information, costs the cache nothing: its code is
// shown by the file, and as nothing can be named for good, nothing is left, and no process is started.
func TestLocalCode(t *testing.T) {
	dir := tempDir(t)
	a := &answers{probe: symsrc.Probe{Known: true, Linked: 4}, Answer: symsrc.Answer{
		Files:  &symsrc.Files{Elf: "/x", DebugStatus: symsrc.NotFound},
		Frames: []symsrc.Frame{{Func: "f", Origin: symsrc.SymbolOnly}}}}
	s := Wrap(a, Options{Dir: dir, Program: program, Finder: a, Local: a})
	for i := range uint64(100) {
		q := symsrc.Addr{Module: symsrc.Module{BuildID: "id"}, Offset: i}
		s.Prefetch(context.Background(), []symsrc.Expected{{Addr: q, Back: func(symsrc.Probe) uint64 { return 0 }}})
		if got := s.Probe(context.Background(), q); got != a.probe {
			t.Errorf("the code shows %+v", got)
		}
		if got := s.Frames(context.Background(), q); text(got) != text(a.Answer) {
			t.Errorf("the answer is %v", got)
		}
	}
	s.Close()
	if a.probed != 100 || a.asked != 100 {
		t.Errorf("the engine was asked %d and %d times", a.probed, a.asked)
	}
	if names := spooled(dir); len(names) > 0 || holder(dir) != 0 {
		t.Errorf("%q are left; process %d", names, holder(dir))
	}
}
