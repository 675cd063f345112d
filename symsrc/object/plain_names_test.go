package object

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc/demangle"
)

// TestNamed checks that every function of a program is found by all spellings of its name, at its address according to debug/elf.
func TestNamed(t *testing.T) {
	need(t, "g++")
	dir := t.TempDir()
	path, source := filepath.Join(dir, "prog"), filepath.Join(dir, "a.cc")
	const text = "namespace n { template <class T> struct A { static __attribute__((noinline)) T get(T x) { return x + 1; } }; }\n" +
		"static __attribute__((noinline)) int twin(int x) { return x + 1; }\nstatic __attribute__((noinline)) long twin(long x) { return x + 2; }\n" +
		"namespace { __attribute__((noinline)) int hidden(int x) { return x + 3; } }\nint twins = 1;\n" +
		"int main(int n, char **) { return twin(n) + twin((long)n) + n::A<int>::get(n) + hidden(n) + twins; }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "g++", "-O0", "-o", path, source)
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
	checked := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue
		}
		checked++
		for _, name := range []string{s.Name, demangle.Demangle(s.Name), demangle.PlainName(s.Name), s.Name + ".cold", s.Name + "@@V_1"} {
			found := false
			for _, fr := range f.Named(name, s.Value+7) {
				found = found || fr.Offset == 7 && fr.Size == s.Size
			}
			if !found {
				t.Errorf("%s was not found as %q", s.Name, name)
			}
		}
	}
	if checked < 6 {
		t.Fatalf("%d functions", checked)
	}
	if got := f.Named("twin", 0); len(got) != 2 {
		t.Errorf("%d functions named twin: %v", len(got), got)
	}
	for _, name := range []string{"", "nothing", "twins", "win", "operator new", "n::A<int>"} {
		if got := f.Named(name, 0); len(got) > 0 {
			t.Errorf("%q: %v, want nothing", name, got)
		}
	}
}

// TestNamesWithAt compares names that contain the sign that begins a version, as those of Crystal do, with llvm-symbolizer.
func TestNamesWithAt(t *testing.T) {
	need(t, "gcc", "objcopy")
	dir := t.TempDir()
	path, source := filepath.Join(dir, "prog"), filepath.Join(dir, "a.c")
	const text = "int a(int x) { return x + 1; }\nint b(int x) { return x * 2; }\nint c(int x) { return x * 3; }\nint main(int n, char **v) { return a(n) + b(n) + c(n); }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "gcc", "-O0", "-o", path, source)
	command(t, "objcopy", "--redefine-sym=a=*Int32@Int#to_s<String::Builder>:Nil", "--redefine-sym=b=~proc2Proc(Nil)@a.cr:3", "--redefine-sym=c=c@@V_1", path)
	oracle, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := oracle.Symbols()
	oracle.Close()
	if err != nil {
		t.Fatal(err)
	}
	f, looked := open(t, path), 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || !strings.Contains(s.Name, "@") {
			continue
		}
		looked++
		frames := f.Code(s.Value)
		if got, want := render(frames), symbolizer(t, path, []uint64{s.Value})[0]; got != want {
			t.Errorf("%s:\n got %s\nwant %s", s.Name, got, want)
		}
		if want := strings.TrimSuffix(s.Name, "@@V_1"); len(frames) != 1 || frames[0].Func != want {
			t.Errorf("%s: %+v, want the function %s", s.Name, frames, want)
		}
	}
	if looked != 3 {
		t.Errorf("%d symbols", looked)
	}
}
