package object

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The sources of a program of two objects, one of which is in a static library.
const (
	darwinCode = `template <class T> __attribute__((noinline)) T twice(T x) { return x * 2; }
static inline __attribute__((always_inline)) int inl(int a, int b) {
  int r = a * b;
  return r / (a - b);
}
extern "C" int other(int);
static __attribute__((noinline)) int loc(int x) { return inl(x, 5) + other(x); }
int main(int n, char **) { return twice(n) + (int)twice((long)n) + loc(n); }
`
	darwinOther = "__attribute__((noinline)) static int hidden(int x) { return x + 7; }\nint other(int x) { return hidden(x) * 3; }\n"
)

// commandsIn returns what runs commands in a directory.
func commandsIn(t *testing.T, dir string) func(args ...string) {
	return func(args ...string) {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// darwin builds a program, and its dSYM elsewhere, with an object in a library.
func darwin(t *testing.T, arch string) (program, dsym string) {
	t.Helper()
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22", "llvm-ar-22"} {
		need(t, tool)
	}
	dir := t.TempDir()
	run := commandsIn(t, dir)
	for name, text := range map[string]string{"a.cpp": darwinCode, "b.c": darwinOther} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run("clang-22", "--target="+arch+"-apple-macos11", "-O2", "-g", "-c", name)
	}
	run("llvm-ar-22", "rcsU", "libb.a", "b.o")
	run("ld64.lld-22", "-arch", arch, "-platform_version", "macos", "11.0", "11.0", "-e", "_main", "-undefined", "dynamic_lookup", "a.o", "libb.a", "-o", "program")
	run("dsymutil-22", "program", "-o", "out/program.dSYM")
	return filepath.Join(dir, "program"), filepath.Join(dir, "out", "program.dSYM", "Contents", "Resources", "DWARF", "program")
}

// text returns what is known of an address.
func (f *File) text(addr uint64) string {
	var b strings.Builder
	for _, fr := range f.Code(addr) {
		fmt.Fprintf(&b, "%s %s:%d:%d;", fr.Func, fr.File, fr.Line, fr.Column)
	}
	return b.String()
}

// TestDebugMap compares the debug information in the objects of a program with that in its dSYM, at each address. Objects that were
// modified since do not count.
func TestDebugMap(t *testing.T) {
	for _, arch := range [...]string{"arm64", "x86_64"} {
		program, dsym := darwin(t, arch)
		linked, err := Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer linked.Close()
		debug, err := Open(dsym)
		if err != nil {
			t.Fatal(err)
		}
		defer debug.Close()
		if linked.BuildID() == "" || linked.BuildID() != debug.BuildID() {
			t.Fatalf("%s: %s and %s", arch, linked.BuildID(), debug.BuildID())
		}
		debug.other = linked // which has the starts of functions: what is after one without lines is its padding
		known := 0
		for addr := uint64(0x100000000); addr < 0x100000800; addr++ {
			got, want := linked.text(addr), debug.text(addr)
			if got != want {
				t.Fatalf("%s: %#x: %s, and %s in the dSYM", arch, addr, got, want)
			}
			if strings.Contains(got, "b.c") {
				known++
			}
		}
		if known == 0 {
			t.Errorf("%s: nothing of the library", arch)
		}
		if err := os.Chtimes(filepath.Join(filepath.Dir(program), "a.o"), time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		changed, err := Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer changed.Close()
		for addr := uint64(0x100000000); addr < 0x100000800; addr++ {
			if got := changed.text(addr); strings.Contains(got, "a.cpp") {
				t.Fatalf("%s: %#x: %s of a modified object", arch, addr, got)
			}
		}
	}
}
