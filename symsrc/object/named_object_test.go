package object

import (
	"context"
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestSymbolOfObject looks up functions of a relocatable file by their names, as for a kernel module: each one is in a section of its own,
// and all sections begin at 0.
func TestSymbolOfObject(t *testing.T) {
	need(t, "g++")
	path := filepath.Join(t.TempDir(), "a.o")
	command(t, "g++", "-g", "-O1", "-ffunction-sections", "-w", "-c", "shapes.cpp", "-o", path)
	s := NewSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
	f := open(t, path)
	asked := 0
	x, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all, err := x.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, sym := range all {
		name := sym.Name
		if sym.Size < 2 || int(sym.Section) >= len(x.Sections) || x.Sections[sym.Section].Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		asked++
		addr := findSymbol(t, f, name)
		for _, off := range []uint64{0, sym.Size - 1} {
			q := symsrc.Addr{Symbol: name, Size: sym.Size, Offset: off}
			a := s.Frames(context.Background(), q)
			if len(a.Frames) == 0 || a.Frames[len(a.Frames)-1].Linkage != name || !strings.Contains(a.Frames[0].File, "src/") {
				t.Errorf("%s+%#x: %+v", name, off, a.Frames)
			}
			p := s.Probe(context.Background(), q)
			if !p.Known || p.Linked != addr+off {
				t.Errorf("%s+%#x: %+v", name, off, p)
			}
			again := s.Frames(context.Background(), symsrc.Addr{Offset: p.Linked})
			if render(again.Frames) != render(a.Frames) {
				t.Errorf("%s+%#x: by its address %s", name, off, render(again.Frames))
			}
		}
	}
	if asked < 3 {
		t.Errorf("%d functions", asked)
	}
}
