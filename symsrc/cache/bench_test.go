//go:build linux || darwin

package cache

import (
	"context"
	"testing"

	"qss-filter/symsrc"
)

// here is an engine whose files are on this machine.
type here struct {
	files symsrc.Files
	a     symsrc.Answer
}

func (h *here) Find(context.Context, symsrc.Module) *symsrc.Files { return &h.files }

func (h *here) Frames(context.Context, symsrc.Addr) symsrc.Answer { return h.a }

// BenchmarkDirect measures what the cache adds to an answer from a file of this machine, which is stored for later runs.
func BenchmarkDirect(b *testing.B) {
	h := &here{files: symsrc.Files{Elf: "/bin/x", Debug: "/x.debug"}}
	h.a = symsrc.Answer{Files: &h.files, Frames: []symsrc.Frame{
		{Func: "std::inlined<int>()", Linkage: "_ZSt7inlinedIiEvv", File: "/usr/src/build/lib/file.cc", CompDir: 14, Line: 10, Column: 3},
		{Func: "outer", Linkage: "outer", File: "/usr/src/build/lib/file.cc", Line: 7, Origin: symsrc.SymbolAndDebug},
	}}
	s := Wrap(h, Options{Dir: b.TempDir(), Finder: h, Local: h, Program: func(string, int64) []string { return []string{"/bin/true"} }})
	defer s.Close()
	q := symsrc.Addr{Module: symsrc.Module{Name: "/bin/x", BuildID: "01234567890123456789"}}
	b.ReportAllocs()
	for b.Loop() {
		q.Offset++
		s.Frames(context.Background(), q)
	}
}
