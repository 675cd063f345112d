package object

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// TestSymbol compares the lookup by name with debug/elf: a name with one address is found there; one with several is found only if the
// size distinguishes them.
func TestSymbol(t *testing.T) {
	need(t, "gcc")
	dir := t.TempDir()
	path := filepath.Join(dir, "prog")
	for name, text := range map[string]string{
		"a.c": "static int twin(void){return 1;} int a(void){return twin();}\n",
		"b.c": "static int twin(void){volatile int x[9]={0}; return x[3]+x[4];} int b(void){return twin();}\n",
		"m.c": "int a(void), b(void); int main(void){return a()+b();}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "gcc", "-O0", "-o", path, filepath.Join(dir, "a.c"), filepath.Join(dir, "b.c"), filepath.Join(dir, "m.c"))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	oracle, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	symbols, err := oracle.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	twins := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue
		}
		if s.Name == "twin" {
			twins++
			if _, ok := f.Symbol(s.Name, 0); ok {
				t.Error("one of two functions named twin was found without its size")
			}
		}
		if addr, ok := f.Symbol(s.Name, s.Size); s.Size > 0 && (!ok || addr != s.Value) {
			t.Errorf("%s of %d bytes: %#x, %v, want %#x", s.Name, s.Size, addr, ok, s.Value)
		}
	}
	if twins != 2 {
		t.Fatalf("%d functions named twin", twins)
	}
	if _, ok := f.Symbol("nothing", 0); ok {
		t.Error("a missing name was found")
	}
	main, _ := f.Symbol("main", 0)
	if got, ok := f.Address(symsrc.Addr{Symbol: "main", Offset: 4}); !ok || got != main+4 {
		t.Errorf("main+4 is %#x, %v", got, ok)
	}
}
