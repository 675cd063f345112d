package object

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const callsSource = `
extern int puts(const char *); extern int atoi(const char *); extern void *malloc(unsigned long);
__attribute__((noinline)) static int local_one(int x) { return puts("a") + x; }
__attribute__((noinline)) static int local_two(int x) { return atoi("1") * local_one(x); }
__attribute__((noinline)) int exported(int x) { return local_two(x) + atoi("2"); }
void *address(void) { return (void *)&malloc; }
void *allocate(int x) { return malloc(x); }
`

// source writes a source file and returns its absolute path.
func source(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// miniDebugFile builds a shared object, and a copy with MiniDebugInfo in place of the symbol table, as described in GDB's manual
// ("MiniDebugInfo").
func miniDebugFile(t *testing.T, xzFlags ...string) (full, mini string) {
	t.Helper()
	need(t, "gcc", "nm", "objcopy", "strip", "xz")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	full, mini = at("full.so"), at("mini.so")
	command(t, "gcc", "-O1", "-g", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id", "-o", full, source(t, "calls.c", callsSource))
	dynamic := symbolNames(t, full, "-D")
	var keep []string
	for _, name := range symbolNames(t, full) {
		if !slices.Contains(dynamic, name) {
			keep = append(keep, name)
		}
	}
	if err := os.WriteFile(at("keep"), []byte(strings.Join(keep, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "objcopy", "--only-keep-debug", full, at("debug"))
	command(t, "objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment", "--keep-symbols="+at("keep"), at("debug"), at("mini"))
	command(t, "xz", append(xzFlags, at("mini"))...)
	command(t, "strip", "--strip-all", "-o", mini, full)
	command(t, "objcopy", "--add-section", ".gnu_debugdata="+at("mini.xz"), mini)
	return full, mini
}

// symbolNames returns the names of the functions of a file according to nm.
func symbolNames(t *testing.T, path string, flags ...string) (names []string) {
	t.Helper()
	out, err := exec.Command("nm", append(flags, "--format=posix", "--defined-only", path)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && strings.Contains("Tt", f[1]) {
			names = append(names, f[0])
		}
	}
	return names
}

// TestMiniDebug compares with the symbols of the unstripped file, at every address, for some of them in a file that was just opened.
func TestMiniDebug(t *testing.T) {
	for _, flags := range []string{"", "--check=crc32", "--check=sha256 -9", "--check=none", "--block-size=600 -T2"} {
		t.Run(flags, func(t *testing.T) {
			full, mini := miniDebugFile(t, strings.Fields(flags)...)
			want, got := open(t, full), open(t, mini)
			locals := 0
			for i, a := range codeAddresses(t, full, 1) {
				sym := want.symtab.At(a)
				if sym == nil || !sym.Sized {
					continue
				}
				if strings.HasPrefix(sym.Name.Linkage, "local_") {
					locals++
				}
				files := []*File{got}
				if i%16 == 0 {
					files = append(files, open(t, mini))
				}
				for _, f := range files {
					if frames := f.Code(a); len(frames) != 1 || frames[0].Linkage != sym.Name.Linkage {
						t.Fatalf("%#x: %+v, want %s", a, frames, sym.Name.Linkage)
					}
				}
			}
			if locals == 0 || got.mini.table == nil {
				t.Errorf("%d addresses of local functions", locals)
			}
		})
	}
}

// TestMiniDebugLazy checks that nothing is unpacked if the file's own symbols suffice, and never with llvmPolicy.
func TestMiniDebugLazy(t *testing.T) {
	full, mini := miniDebugFile(t)
	exported, local := findSymbol(t, open(t, full), "exported"), findSymbol(t, open(t, full), "local_one")
	f := open(t, mini)
	if got := render(f.Code(exported)); got != "exported ??:0:0" || f.mini.table != nil {
		t.Errorf("%s, unpacked: %v", got, f.mini.table != nil)
	}
	llvm := openAsLLVM(t, mini)
	addrs := []uint64{exported, local}
	for i, want := range symbolizer(t, mini, addrs) {
		if got := render(llvm.Code(addrs[i])); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if llvm.mini.table != nil {
		t.Error("unpacked with llvmPolicy")
	}
	if got := render(f.Code(local)); got != "local_one ??:0:0" {
		t.Errorf("%s", got)
	}
}
