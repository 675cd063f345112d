package locate

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// The UUIDs of the two architectures in testdata.
const (
	idIntel = "4c4c447d55553144a10b863c84e8f2c6"
	idARM   = "4c4c44ab55553144a1a8ad1c256b40ed"
)

// machOFiles returns the dSYM of both architectures, and the stripped program of the first one.
func machOFiles(t testing.TB) (fat, program []byte) {
	t.Helper()
	for path, to := range map[string]*[]byte{"../../testdata/apple/syms/demo.dSYM/Contents/Resources/DWARF/demo": &fat, "../../testdata/apple/bin/demo": &program} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*to = b
	}
	return fat, program
}

// put writes a file below dir.
func put(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

const archived = "App.xcarchive/dSYMs/demo.dSYM/Contents/Resources/DWARF/demo"

// TestFat finds each architecture of a dSYM by its UUID: in a tree, and in archives, packed or not.
func TestFat(t *testing.T) {
	fat, _ := machOFiles(t)
	for name, write := range map[string]func(dir string){
		"tree":     func(dir string) { put(t, dir, archived, fat) },
		"stored":   func(dir string) { put(t, dir, "a.zip", zipFile(t, zipped{archived, fat, zip.Store, 0})) },
		"deflated": func(dir string) { put(t, dir, "a.zip", zipFile(t, zipped{archived, fat, zip.Deflate, 0})) },
	} {
		dir, cache := t.TempDir(), t.TempDir()
		write(dir)
		for range 2 { // the second time from the cache of the tree
			l := locator(t, Options{Symbols: []string{dir}, CacheDir: cache})
			for _, id := range [...]string{idIntel, idARM} {
				f := find(t, l, "", id)
				if f.DebugStatus != symsrc.OK || f.Unverified || f.DebugRange.Size == 0 {
					t.Fatalf("%s: %s: %+v", name, id, f)
				}
				if arch := map[string]string{idIntel: "x86_64", idARM: "arm64"}[id]; !strings.HasSuffix(f.DebugRange.Of(f.Debug), arch) {
					t.Errorf("%s: %s is %s", name, id, f.DebugRange.Of(f.Debug))
				}
				b, err := os.ReadFile(f.Debug)
				if err != nil {
					t.Fatal(err)
				}
				if magic := string(b[f.DebugRange.Offset:][:4]); magic != "\xcf\xfa\xed\xfe" {
					t.Errorf("%s: %s begins with %q", name, id, magic)
				}
			}
			if f := find(t, l, "demo", idA); f.Usable() {
				t.Errorf("%s: another UUID: %+v", name, f)
			}
		}
	}
}

// TestArch holds that a module of Darwin without a UUID is no ELF file, and of its architecture, and that no other module is a Mach-O file.
func TestArch(t *testing.T) {
	fat, program := machOFiles(t)
	dir := t.TempDir()
	put(t, dir, archived, fat)
	put(t, dir, "elf/only", full.bytes())
	put(t, dir, "mac/single", program)
	l := locator(t, Options{Symbols: []string{dir}})
	for _, tc := range []struct {
		name, arch string
		found      bool
	}{
		{"demo", "x86_64", true}, {"demo", "arm64", true}, {"demo", "arm64e", false}, {"demo", symsrc.AnyArch, false}, {"demo", "", false},
		{"only", "x86_64", false}, {"only", symsrc.AnyArch, false}, {"only", "", true},
		{"single", "x86_64", true}, {"single", symsrc.AnyArch, true}, {"single", "arm64", false}, {"single", "", false},
	} {
		f := l.Find(t.Context(), symsrc.Module{Name: tc.name, Arch: tc.arch})
		if f.Usable() != tc.found {
			t.Errorf("%s of %q: %+v", tc.name, tc.arch, f)
		}
	}
	if f := l.Find(t.Context(), symsrc.Module{Name: filepath.Join(dir, "mac", "single")}); f.ElfStatus != symsrc.OK {
		t.Errorf("by its path: %+v", f)
	}
}

// TestBeside finds the dSYM next to a program, and next to the bundle that it is in.
func TestBeside(t *testing.T) {
	fat, program := machOFiles(t)
	for _, path := range [...]string{"demo", "demo.app/Contents/MacOS/demo", "demo.framework/Versions/A/demo"} {
		dir := t.TempDir()
		put(t, dir, path, program)
		bundle, _, _ := strings.Cut(path, "/")
		put(t, dir, bundle+".dSYM/Contents/Resources/DWARF/demo", fat)
		f := locator(t, Options{}).Find(t.Context(), symsrc.Module{Name: filepath.Join(dir, filepath.FromSlash(path))})
		if f.ElfStatus != symsrc.OK || f.DebugStatus != symsrc.OK || f.DebugRange.Member != "x86_64" {
			t.Errorf("%s: %+v", path, f)
		}
	}
}
