package object

import (
	"crypto/md5"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"
)

// TestMD5 checks that a frame has the MD5 of its source file if it is in the line table; clang writes it in version 5.
func TestMD5(t *testing.T) {
	need(t, "clang-22")
	dir := t.TempDir()
	const header, source = "int g(int);\nstatic inline int twice(int n) { return g(n) * 2; }\n", "#include \"twice.h\"\nint f(int n) { return twice(n) + 1; }\n"
	for name, text := range map[string]string{"twice.h": header, "f.c": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for version, has := range map[string]bool{"-gdwarf-5": true, "-gdwarf-4": false} {
		lib := filepath.Join(dir, "f.so")
		command(t, "clang-22", version, "-O2", "-shared", "-fPIC", "-nostdlib", "-o", lib, filepath.Join(dir, "f.c"))
		file, err := elf.Open(lib)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := file.DynamicSymbols()
		file.Close()
		if err != nil || len(symbols) != 2 {
			t.Fatalf("symbols %v, %v", symbols, err)
		}
		f := symbols[1]
		sums := map[string]string{}
		for at := f.Value; at < f.Value+f.Size; at++ {
			for _, fr := range open(t, lib).Code(at) {
				sums[filepath.Base(fr.File)] = fr.MD5
			}
		}
		want := map[string]string{"twice.h": "", "f.c": ""}
		if has {
			a, b := md5.Sum([]byte(header)), md5.Sum([]byte(source))
			want = map[string]string{"twice.h": string(a[:]), "f.c": string(b[:])}
		}
		if len(sums) != 2 || sums["twice.h"] != want["twice.h"] || sums["f.c"] != want["f.c"] {
			t.Errorf("%s: sums %x, want %x", version, sums, want)
		}
	}
}
