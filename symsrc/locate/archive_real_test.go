package locate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestRealArchive has libraries of gcc in archives of the zip program, stored and deflated, and their debug files in a
// native-debug-symbols.zip.
func TestRealArchive(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name + " is not installed")
		}
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	write(t, dir+"/a.c", []byte("int f(int x) { return x + 1; }\n"))
	if err := os.MkdirAll(dir+"/lib/x86_64", 0o755); err != nil {
		t.Fatal(err)
	}
	const lib, dbg = "lib/x86_64/liba.so", "lib/x86_64/liba.so.dbg"
	run("gcc", "-shared", "-fPIC", "-g", "-Wl,--build-id=0x"+idA, "-o", lib, "a.c")
	run("objcopy", "--only-keep-debug", lib, dbg)
	run("strip", "--strip-unneeded", lib)
	os.MkdirAll(dir+"/s", 0o755)
	os.MkdirAll(dir+"/d", 0o755)
	run("zip", "-q", "-0", "s/base.apk", "a.c", lib)
	run("zip", "-q", "-9", "s/lib.aar", "a.c", lib)
	run("zip", "-q", "-9", "d/native-debug-symbols.zip", dbg)
	program, debug := string(contentOf(t, dir+"/"+lib)), string(contentOf(t, dir+"/"+dbg))
	for _, symbols := range [][]string{{"s", "d"}, {"d", "s"}} {
		o := Options{CacheDir: dir + "/cache"}
		for _, s := range symbols {
			o.Symbols = append(o.Symbols, dir+"/"+s)
		}
		l := locator(t, o)
		for _, m := range []symsrc.Module{{Name: "base.apk", Member: "liba.so"}, {Name: "liba.so"}, {Name: "renamed"}} {
			m.BuildID = buildID(t, idA)
			f := l.Find(t.Context(), m)
			if f.ElfStatus != symsrc.OK || f.DebugStatus != symsrc.OK || f.Note != "" {
				t.Fatalf("%v: %+v", m, f)
			}
			if answered(t, f.Elf, f.ElfRange) != program || answered(t, f.Debug, f.DebugRange) != debug {
				t.Errorf("%v: other files: %+v", m, f)
			}
		}
	}
	if left, _ := filepath.Glob(dir + "/cache/members/*"); len(left) == 0 || strings.Contains(left[0], ".new") {
		t.Errorf("unpacked: %q", left)
	}
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
