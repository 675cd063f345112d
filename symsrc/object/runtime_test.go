package object

import (
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestStubsOfDebugFile looks up stubs of a complete debug file, whose runtime object is not open at first.
func TestStubsOfDebugFile(t *testing.T) {
	need(t, "gcc", "objcopy")
	dir := t.TempDir()
	in(t, dir, "gcc", "-O1", "-g", "-w", "-fno-builtin", "-shared", "-fPIC", "-Wl,--build-id", "-o", "a.elf", source(t, "calls.c", callsSource))
	in(t, dir, "objcopy", "--only-keep-debug", "a.elf", "a.debug")
	path := filepath.Join(dir, "a.elf")
	id := open(t, path).BuildID()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	plt := e.Section(".plt.sec")
	if plt == nil {
		plt = e.Section(".plt")
	}
	src := NewSource(fixedFinder{&symsrc.Files{Elf: path, Debug: filepath.Join(dir, "a.debug")}})
	m := symsrc.Module{BuildID: id}
	named := 0
	for a := plt.Addr; a < plt.Addr+plt.Size; a += 16 {
		for _, f := range src.Frames(context.Background(), symsrc.Addr{Module: m, Offset: a}).Frames {
			if strings.HasSuffix(f.Func, "@plt") {
				named++
			}
		}
	}
	if named < 2 { // another one may be in .plt.got
		t.Errorf("%d stubs are named", named)
	}
	late := src.module(m).opened[0].runtimeFile.file.Load()
	if late == nil {
		t.Fatal("the runtime object was not opened lazily")
	}
	if err := os.Rename(filepath.Join(dir, "a.debug"), path); err != nil {
		t.Fatal(err)
	}
	src.module(m).checked.Store(0) // check for changes on disk
	if a := ask(src, m, plt.Addr+16); len(a.Frames) > 0 && strings.HasSuffix(a.Frames[0].Func, "@plt") {
		t.Errorf("the runtime object was replaced: %+v", a.Frames)
	}
}

// TestWeight checks the memory that a Source counts, while its file opens dependencies.
func TestWeight(t *testing.T) {
	for _, c := range []struct {
		name, file string
		addr       uint64
		files      int // number of dependencies
	}{
		{"supplement", "dwz5.elf", 0x1020, 1},
		{"split", "split5.elf", 0, 1},
		{"nothing", "gcc5.elf", 0x1020, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", c.file)
			s := NewSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
			q := symsrc.Module{Name: c.file}
			m := s.module(q)
			ask(s, q, 1<<40)
			before := m.weight.Load()
			for _, a := range codeAddresses(t, path, 16) {
				ask(s, q, a)
			}
			f := m.opened[0].File
			if least := before + int64(c.files*dependencyWeight); len(f.deps.opened) != c.files || m.weight.Load() <= least {
				t.Errorf("%d files opened; weight %d, before %d", len(f.deps.opened), m.weight.Load(), before)
			}
			if m.weight.Load() != fileWeight+f.elf.Budget.InMemory() {
				t.Errorf("weight %d, but the file uses %d", m.weight.Load(), f.elf.Budget.InMemory())
			}
			m.close()
			if w := m.weight.Load(); w != 0 {
				t.Errorf("weight %d after it was closed", w)
			}
		})
	}
}

// TestWeightOfMiniDebug is TestWeight for MiniDebugInfo.
func TestWeightOfMiniDebug(t *testing.T) {
	f := open(t, filepath.Join("testdata", "gcc5.elf"))
	s := NewSource(fixedFinder{&symsrc.Files{Elf: miniFile(t), DebugStatus: symsrc.NotFound}})
	q := symsrc.Module{Name: "m"}
	addr := findSymbol(t, f, "_Z5otheri")
	m := s.module(q)
	s.with(context.Background(), q, func(*module, *symsrc.Files) {})
	before := m.weight.Load()
	ask(s, q, addr)
	if grown := m.weight.Load() - before; m.opened[0].mini.table == nil || grown < 24 /* a symbol */ {
		t.Errorf("the weight grew by %d", grown)
	}
}

// miniFile returns the path of a small file with MiniDebugInfo and no other symbols.
func miniFile(t *testing.T) string {
	t.Helper()
	need(t, "objcopy", "xz")
	dir := t.TempDir()
	copyFile(t, filepath.Join("testdata", "gcc5.elf"), filepath.Join(dir, "mini"))
	in(t, dir, "objcopy", "--strip-debug", "mini")
	in(t, dir, "xz", "-k", "mini")
	copyFile(t, filepath.Join("testdata", "gcc5.elf"), filepath.Join(dir, "a.elf"))
	in(t, dir, "objcopy", "--strip-all", "--add-section", ".gnu_debugdata=mini.xz", "a.elf")
	return filepath.Join(dir, "a.elf")
}
