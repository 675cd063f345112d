//go:build linux || darwin

package cache

import (
	"context"
	"testing"

	"qss-filter/symsrc"
)

// TestLocalCode checks that the cache is not used for a module whose file is on this machine, without debug information: the file has its
// code, and no answer can be stored, so no spool file is written and no process is started.
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

// TestFoundLater checks that the file of a module on this machine answers, and not the cache, as soon as the search for it is over.
func TestFoundLater(t *testing.T) {
	over := false
	files := &symsrc.Files{Elf: "/x", DebugStatus: symsrc.OK, Retry: func() bool { return over }}
	a := &answers{Answer: symsrc.Answer{Files: files}}
	s := Wrap(a, Options{Dir: tempDir(t), Program: program, Finder: a, Local: a})
	defer s.Close()
	of := symsrc.Module{BuildID: "id"}
	s.begin()
	if m := s.module(context.Background(), of); m.direct.Load() || s.module(context.Background(), of) != m {
		t.Error("a file answers that is looked for, or it is looked for twice")
	}
	over, a.Answer.Files = true, &symsrc.Files{Elf: "/x", DebugStatus: symsrc.OK}
	if !s.module(context.Background(), of).direct.Load() {
		t.Error("the file does not answer")
	}
}
