package object

import (
	"debug/elf"
	"path/filepath"
	"testing"
)

// TestSymbolsEndWithTheirSection looks up addresses between sections and after the last one. The start files of a C library have symbols
// without a size before such gaps (_fini, __FRAME_END__): llvm extends them into the gaps, gdb and eu-addr2line do not.
func TestSymbolsEndWithTheirSection(t *testing.T) {
	need(t, "gcc")
	path := filepath.Join(t.TempDir(), "a.out")
	command(t, "gcc", "-o", path, source(t, "gap.c", "int main(void) { return 0; }"))
	gaps := betweenSections(t, path)
	f := open(t, path)
	for _, a := range gaps {
		if frames := f.Code(a); frames != nil {
			t.Errorf("%#x is not in a section, but has the frames %s", a, render(frames))
		}
	}
	// The first lookup scans the raw table.
	if last := gaps[len(gaps)-1]; open(t, path).Code(last) != nil {
		t.Errorf("%#x has frames if it is the first address", last)
	}
	f = openAsLLVM(t, path)
	named := 0
	for i, want := range symbolizer(t, path, gaps) {
		got := render(f.Code(gaps[i]))
		if got != want {
			t.Errorf("%#x with llvmPolicy: %s, want %s", gaps[i], got, want)
		}
		if got != "?? ??:0:0" {
			named++
		}
	}
	if named == 0 {
		t.Error("llvm has no frames for the gaps: the test shows nothing")
	}
}

// betweenSections returns the addresses of a program that are not in a section, up to a page after its end.
func betweenSections(t *testing.T, path string) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var end uint64
	inSection := make(map[uint64]bool)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		end = max(end, s.Addr+s.Size)
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			inSection[a] = true
		}
	}
	for a := range end + 4096 {
		if !inSection[a] {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// TestDataIsNotCode looks up code at the addresses of all symbols: those of data, some of which have no size (__FRAME_END__,
// __GNU_EH_FRAME_HDR), must not name code. With llvmPolicy they do.
func TestDataIsNotCode(t *testing.T) {
	need(t, "gcc")
	path := filepath.Join(t.TempDir(), "a.out")
	command(t, "gcc", "-o", path, source(t, "data.c", "int table[4] = {1}; int main(void) { return table[0]; }"))
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	symbols, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	f, asked := open(t, path), 0
	for _, s := range symbols {
		if int(s.Section) >= len(e.Sections) || s.Section == elf.SHN_UNDEF {
			continue
		}
		in := e.Sections[s.Section]
		code := in.Flags&elf.SHF_EXECINSTR != 0
		if s.Value >= in.Addr+in.Size || in.Flags&(elf.SHF_ALLOC|elf.SHF_TLS) != elf.SHF_ALLOC {
			continue
		}
		asked++
		if frames := f.Code(s.Value); (frames != nil) != code {
			t.Errorf("%s in %s, code: %v, has the frames %s", s.Name, in.Name, code, render(frames))
		}
	}
	if asked < 10 || render(openAsLLVM(t, path).Code(symbolValue(symbols, "__FRAME_END__"))) == "?? ??:0:0" {
		t.Errorf("%d symbols: the test shows nothing", asked)
	}
}

func symbolValue(symbols []elf.Symbol, name string) uint64 {
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	return 0
}
