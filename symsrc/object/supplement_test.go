package object

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dwz builds two files, and moves their common parts to a third one. It returns the paths of the first file, of its original, and of the
// third one. The original is for llvm-symbolizer, which does not support supplementary files.
func dwz(t *testing.T, flags, link string, args ...string) (path, before, common string) {
	t.Helper()
	need(t, "dwz", "g++")
	dir := t.TempDir()
	var paths []string
	for i, opt := range []string{" -O2", " -O1"} {
		b := build{compiler: "g++", flags: flags + opt + " -Wl,--build-id"}
		p := filepath.Join(dir, string(rune('a'+i))+".elf")
		b.run(t, p)
		copyFile(t, p, p+".before")
		paths = append(paths, p)
	}
	common = filepath.Join(dir, "common")
	args = append(args, "-m", common)
	if link != "" {
		args = append(args, "-M", link)
	}
	cmd := exec.Command("dwz", append(args, paths...)...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("dwz: %v\n%s", err, out)
	}
	return paths[0], paths[0] + ".before", common
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSupplement compares files processed by dwz with llvm-symbolizer's answers for the original files.
func TestSupplement(t *testing.T) {
	for _, c := range []struct {
		name, flags, link string
		args              []string
		file, common      string // paths to which they are moved; % in common is the build ID, split by a slash
	}{
		{"beside", "-gdwarf-5", "", nil, "", ""},
		{"dwarf 4", "-gdwarf-4", "", nil, "", ""},
		{"debug_sup", "-gdwarf-5", "", []string{"--dwarf-5"}, "", ""},
		{"relative", "-gdwarf-5", "../../.dwz/arch/common", nil, "r/.build-id/ab/cd.debug", "r/.dwz/arch/common"},
		{"a .dwz tree", "-gdwarf-5", "/nowhere/.dwz/arch/common", nil, "r/.build-id/ab/cd.debug", "r/.dwz/arch/common"},
		{"a root file system", "-gdwarf-5", "/usr/lib/debug/.dwz/qss/common", nil,
			"r/usr/lib/debug/usr/bin/x.debug", "r/usr/lib/debug/.dwz/qss/common"},
		{"by build ID", "-gdwarf-5", "/nowhere/common", nil, "r/.build-id/ab/cd.debug", "r/.build-id/%.debug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, before, common := dwz(t, c.flags, c.link, c.args...)
			if c.file != "" {
				dir := t.TempDir()
				id := open(t, common).BuildID().String()
				to := filepath.Join(dir, strings.Replace(c.common, "%", id[:2]+"/"+id[2:], 1))
				copyFile(t, common, to)
				copyFile(t, path, filepath.Join(dir, c.file))
				path = filepath.Join(dir, c.file)
				os.Remove(common)
			}
			addrs := codeAddresses(t, path, 2)
			f := open(t, path)
			for _, a := range addrs {
				f.Code(a)
			}
			if len(f.deps.opened) != 1 {
				t.Fatal("the supplementary file was not found")
			}
			compare(t, path, addrs, symbolizer(t, before, addrs))
		})
	}
}

// TestSupplementOfAnother opens a file whose supplementary file is missing, belongs to another build, or is not a regular file. Names are
// missing then, but never wrong.
func TestSupplementOfAnother(t *testing.T) {
	path, before, common := dwz(t, "-gdwarf-5", "")
	_, _, another := dwz(t, "-gdwarf-4", "")
	addrs := codeAddresses(t, path, 3)
	right := open(t, before)
	for _, c := range []struct {
		name    string
		prepare func() error
	}{
		{"missing", func() error { return os.Remove(common) }},
		{"another build", func() error { copyFile(t, another, common); return nil }},
		{"a directory", func() error { os.Remove(common); return os.Mkdir(common, 0o755) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.prepare(); err != nil {
				t.Fatal(err)
			}
			f := open(t, path)
			unnamed := 0
			for _, a := range addrs {
				got, want := f.Code(a), right.Code(a)
				if len(got) != len(want) {
					t.Fatalf("%#x: %s, want %s", a, render(got), render(want))
				}
				for i := range got {
					if got[i].Linkage == "" {
						unnamed++
					} else if got[i].Linkage != want[i].Linkage {
						t.Fatalf("%#x: %s, want %s", a, render(got), render(want))
					}
				}
			}
			if unnamed == 0 {
				t.Error("no name is in the supplementary file")
			}
			if len(f.deps.opened) > 0 {
				t.Error("a wrong file was opened")
			}
		})
	}
}
