package object

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// TestDemangledSymbol compares the lookup by a demangled name, as Android's unwinder writes them, with what binutils has for each function:
// overloads are told apart by their arguments.
func TestDemangledSymbol(t *testing.T) {
	need(t, "g++")
	need(t, "nm")
	dir := t.TempDir()
	source, path := filepath.Join(dir, "a.cc"), filepath.Join(dir, "prog")
	text := `#include <string>
namespace shop { struct Cart { int add(int); int add(const std::string &); int total() const; };
int Cart::add(int n) { return n; }
int Cart::add(const std::string &s) { return (int)s.size(); }
int Cart::total() const { return 3; }
template <bool B> int call(Cart &c, unsigned short n) { return c.add(n) + B; } }
int main() { shop::Cart c; return c.add(1) + c.add("x") + c.total() + shop::call<false>(c, 2) + shop::call<true>(c, 3); }
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "g++", "-O0", "-o", path, source)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := exec.Command("nm", "-C", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) < 3 || !strings.Contains(fields[2], "shop::") || !strings.ContainsAny(fields[1], "TW") {
			continue
		}
		want, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Symbol(fields[2], 0); !ok || got != want {
			t.Errorf("%s: %#x, %v, want %#x", fields[2], got, ok, want)
		}
		found++
	}
	if found < 5 {
		t.Errorf("%d functions were looked at", found)
	}
	for _, name := range []string{"shop::Cart::add", "shop::Cart::add(long)", "shop::Cart::total()", "shop::Cart::total(int) const", "shop::Cart::none()", "shop::none", "::", "()"} {
		if got, ok := f.Symbol(name, 0); ok {
			t.Errorf("%s is at %#x", name, got)
		}
	}
	whole, ok := f.Symbol("shop::Cart::total", 0)
	if !ok {
		t.Error("the only function of its name was not found without parameters")
	}
	stripped := filepath.Join(dir, "stripped")
	command(t, "g++", "-O0", "-rdynamic", "-s", "-o", stripped, source)
	g, err := Open(stripped)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if got, ok := g.Symbol("shop::Cart::total", 0); ok {
		t.Errorf("a file without a full symbol table has it at %#x, the other at %#x", got, whole)
	}
	if _, ok := g.Symbol("shop::Cart::total() const", 0); !ok {
		t.Error("an exported function was not found")
	}
}
