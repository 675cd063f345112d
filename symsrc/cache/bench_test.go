//go:build linux || darwin

package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// BenchmarkSpool encodes and writes 20,000 answers from 2,000 functions of C++, as a long log of one library has them.
func BenchmarkSpool(b *testing.B) {
	const functions, answers = 2000, 20000
	names := make([][2]string, functions)
	for i := range names {
		names[i][0] = fmt.Sprintf("std::__cxx11::basic_string<char%d, std::char_traits<char>, std::allocator<char> >::_M_replace(unsigned long, unsigned long, char const*)", i)
		names[i][1] = fmt.Sprintf("_ZNSt7__cxx1112basic_stringI%dcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm", i)
	}
	m := &module{prefix: "a prefix of the usual length"}
	files := &symsrc.Files{Debug: "/x.debug"}
	all := make([]pending, answers)
	for i := range all {
		name := &names[i*7919%functions]
		f := symsrc.Frame{Func: name[0], Linkage: name[1], File: "/usr/src/build/x86_64-linux-gnu/libstdc++-v3/include/bits/basic_string.tcc", CompDir: 14, Line: i % 5000, Column: 3}
		all[i] = pending{origin{m, files}, m.prefix, entry{at: uint64(i * 7919), frames: []symsrc.Frame{f, f}}}
	}
	dir := b.TempDir()
	s := newSpool(dir, newListing(dir), nil, func(err error) { b.Error(err) })
	b.ReportAllocs()
	for b.Loop() {
		for i := range all {
			if s.batch.add(&all[i]); s.batch.size >= spoolSize && !s.leave() {
				b.Fatal("no file was written")
			}
		}
		s.leave()
		b.StopTimer()
		for _, name := range spooled(dir) {
			if err := os.Remove(filepath.Join(dir, spoolDir, name)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
	b.SetBytes(s.bytes / int64(b.N))
}
