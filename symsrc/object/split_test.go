package object

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// split builds a.elf and the files of its split units in dir, with relative names.
func split(t *testing.T, dir, compiler, flags string) string {
	t.Helper()
	need(t, compiler)
	src, err := filepath.Abs(filepath.Join("testdata", "src"))
	if err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(flags), strings.Fields(freestanding)...)
	for i, a := range args {
		if strings.HasSuffix(a, ".cpp") {
			args[i] = filepath.Join(src, a)
		}
	}
	in(t, dir, compiler, append(args, "-gsplit-dwarf", "-o", "a.elf")...)
	return filepath.Join(dir, "a.elf")
}

// in runs a command in a directory.
func in(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// splitFiles returns the files of split units in a directory.
func splitFiles(t *testing.T, dir string) []string {
	t.Helper()
	dwos, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
	if err != nil || len(dwos) == 0 {
		t.Fatalf("no files of split units in %s: %v", dir, err)
	}
	return dwos
}

// TestSplit compares files with split units with llvm-symbolizer. The split units are in separate files, in separate files that were
// moved with the executable, in a package, or missing.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ name, compiler, flags, packer string }{
		{"gcc-5", "g++", "-gdwarf-5 -O2", ""}, // llvm-dwp-22 does not terminate, dwp of binutils crashes
		{"gcc-4", "g++", "-gdwarf-4 -O2", "llvm-dwp-22"},
		{"gcc-4-gnu", "g++", "-gdwarf-4 -O1", "dwp"},
		{"gcc-5-sections", "g++", "-gdwarf-5 -O2 -ffunction-sections -Wl,--gc-sections", ""},
		{"gcc-5-lines", "g++", "-gdwarf-5 -g1 -O2", "llvm-dwp-22"},
		{"clang-5", clang, "-gdwarf-5 -O2", "llvm-dwp-22"},
		{"clang-4", clang, "-gdwarf-4 -O2", "llvm-dwp-22"},
		{"clang-5-O0", clang, "-gdwarf-5 -O0", "llvm-dwp-22"},
		{"clang-5-inlining", clang, "-gdwarf-5 -O2 -fsplit-dwarf-inlining", "llvm-dwp-22"},
		{"clang-5-sections", clang, "-gdwarf-5 -O1 -ffunction-sections -Wl,--gc-sections" + lld, "llvm-dwp-22"},
		{"clang-4-sections", clang, "-gdwarf-4 -O1 -ffunction-sections -Wl,--gc-sections" + lld, "llvm-dwp-22"},
		{"clang-types", clang, "-gdwarf-5 -O2 -fdebug-types-section", "llvm-dwp-22"},
		{"aarch64-big", clang, "--target=aarch64_be-linux-gnu -gdwarf-5 -O2" + lld, ""},
		{"ppc-big-4", clang, "--target=powerpc-linux-gnu -gdwarf-4 -O2" + lld, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := split(t, dir, c.compiler, c.flags)
			addrs := codeAddresses(t, path, 2)
			want := symbolizer(t, path, addrs)
			compare(t, path, addrs, want)

			t.Run("moved", func(t *testing.T) {
				moved := t.TempDir()
				for _, file := range append(splitFiles(t, dir), path) {
					copyFile(t, file, filepath.Join(moved, filepath.Base(file)))
				}
				hidden := dir + ".hidden"
				if err := os.Rename(dir, hidden); err != nil {
					t.Fatal(err)
				}
				defer os.Rename(hidden, dir)
				compare(t, filepath.Join(moved, "a.elf"), addrs, want)
			})
			t.Run("package", func(t *testing.T) {
				if c.packer == "" {
					t.Skip("neither llvm-dwp-22 nor dwp can create this package")
				}
				need(t, c.packer)
				in(t, dir, c.packer, "-e", "a.elf", "-o", "a.elf.dwp")
				defer os.Remove(path + ".dwp")
				for _, file := range splitFiles(t, dir) {
					hide(t, file)
				}
				compare(t, path, addrs, want)
			})
			t.Run("missing", func(t *testing.T) {
				for _, file := range splitFiles(t, dir) {
					hide(t, file)
				}
				compare(t, path, addrs, symbolizer(t, path, addrs))
			})
		})
	}
}

// hide renames a file until the end of the test.
func hide(t *testing.T, path string) {
	t.Helper()
	if err := os.Rename(path, path+".hidden"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Rename(path+".hidden", path) })
}

// TestSplitOfAnother replaces the split units with those of another build, which must not be used.
func TestSplitOfAnother(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	path := split(t, dir, clang, "-gdwarf-5 -O2")
	split(t, other, clang, "-gdwarf-5 -O0")
	addrs := codeAddresses(t, path, 3)
	for _, file := range splitFiles(t, dir) {
		hide(t, file)
	}
	want := symbolizer(t, path, addrs)
	for _, file := range splitFiles(t, other) {
		copyFile(t, file, filepath.Join(dir, filepath.Base(file)))
	}
	compare(t, path, addrs, want)
}
