package object

import (
	"debug/elf"
	"path/filepath"
	"testing"
)

// TestSymbolsEndWithTheirSection asks for what lies between sections and after the last one. The start files of a C library
// have symbols without a size before such gaps (_fini, __FRAME_END__): llvm lets them reach over, gdb and eu-addr2line do not.
func TestSymbolsEndWithTheirSection(t *testing.T) {
	need(t, "gcc")
	path := filepath.Join(t.TempDir(), "a.out")
	command(t, "gcc", "-o", path, source(t, "gap.c", "int main(void) { return 0; }"))
	gaps := betweenSections(t, path)
	f := open(t, path)
	for _, a := range gaps {
		if frames := f.Code(a); frames != nil {
			t.Errorf("%#x is in no section, and gets %s", a, render(frames))
		}
	}
	// The first address is looked for in the raw table.
	if last := gaps[len(gaps)-1]; open(t, path).Code(last) != nil {
		t.Errorf("%#x, asked first, has a name", last)
	}
	f = openAsLLVM(t, path)
	named := 0
	for i, want := range symbolizer(t, path, gaps) {
		got := render(f.Code(gaps[i]))
		if got != want {
			t.Errorf("%#x in the style of llvm: %s instead of %s", gaps[i], got, want)
		}
		if got != "?? ??:0:0" {
			named++
		}
	}
	if named == 0 {
		t.Error("llvm names none of the gaps: the test shows nothing")
	}
}

// betweenSections are the addresses of a program up to a page after its end that lie in no section.
func betweenSections(t *testing.T, path string) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var end uint64
	taken := make(map[uint64]bool)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		end = max(end, s.Addr+s.Size)
		for a := s.Addr; a < s.Addr+s.Size; a++ {
			taken[a] = true
		}
	}
	for a := range end + 4096 {
		if !taken[a] {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// TestDataIsNotCode asks for the code at the beginnings of what holds none: the symbols there name data, some without a size
// (__FRAME_END__, __GNU_EH_FRAME_HDR). In the style of llvm they do name it.
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
			t.Errorf("%s in %s, code: %v, is named %s", s.Name, in.Name, code, render(frames))
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
