package locate

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// apk writes an archive with the libraries of two ABIs and returns the offset of the first.
func apk(t *testing.T, path string, method uint16) int64 {
	t.Helper()
	b := zipFile(t, zipped{"lib/arm64-v8a/libfoo.so", full.bytes(), method, 4096}, zipped{"lib/x86_64/libfoo.so", other.bytes(), method, 0},
		zipped{"AndroidManifest.xml", []byte("<x/>"), zip.Deflate, 0})
	write(t, path, b)
	list, err := zipMembers(strings.NewReader(string(b)), int64(len(b)))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	return list[0].data
}

// answered reads what an answer says is the module.
func answered(t *testing.T, path string, r symsrc.Range) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Whole() {
		return string(b)
	}
	return string(b[r.Offset : r.Offset+r.Size])
}

// TestInArchive finds modules in archives of a symbol tree and at the log's path below a root.
func TestInArchive(t *testing.T) {
	dir := t.TempDir()
	off := uint64(apk(t, dir+"/s/out/base.apk", zip.Store))
	apk(t, dir+"/r/data/app/x/base.apk", zip.Store)
	apk(t, dir+"/d/native-debug-symbols.zip", zip.Deflate)
	write(t, dir+"/r/none", nil)
	trees, roots := Options{Symbols: []string{dir + "/s"}}, Options{Rootfs: []string{dir + "/r"}}
	packed := Options{Symbols: []string{dir + "/d"}, CacheDir: dir + "/cache"}
	const path = "/data/app/x/base.apk"
	for _, tt := range []struct {
		what   string
		opt    Options
		m      symsrc.Module
		id     string
		want   string // content: a, b or none
		note   string
		member string
	}{
		{"by build ID", trees, symsrc.Module{Name: "base.apk", Member: "libfoo.so"}, idA, "a", "", "lib/arm64-v8a/libfoo.so"},
		{"its build ID chooses the ABI", trees, symsrc.Module{Name: "base.apk", Member: "libfoo.so"}, idB, "b", "no .debug_info", "lib/x86_64/libfoo.so"},
		{"build ID alone", trees, symsrc.Module{}, idB, "b", "", "lib/x86_64/libfoo.so"},
		{"at the path", roots, symsrc.Module{Name: path, Member: "libfoo.so"}, idA, "a", "", "lib/arm64-v8a/libfoo.so"},
		{"at the path, linker's way", roots, symsrc.Module{Name: path + "!/lib/x86_64/libfoo.so"}, idB, "b", "", "lib/x86_64/libfoo.so"},
		{"offset", roots, symsrc.Module{Name: path, InArchive: off}, "", "a", "", "lib/arm64-v8a/libfoo.so"},
		{"offset in a tree", trees, symsrc.Module{Name: path, InArchive: off}, "", "a", "", "lib/arm64-v8a/libfoo.so"},
		{"name and offset", roots, symsrc.Module{Name: path, Member: "libfoo.so", InArchive: off}, "", "a", "", "lib/arm64-v8a/libfoo.so"},
		{"full name", trees, symsrc.Module{Name: "base.apk!lib/x86_64/libfoo.so"}, "", "b", "", "lib/x86_64/libfoo.so"},
		{"two ABIs", roots, symsrc.Module{Name: path, Member: "libfoo.so"}, "", "", "2 different files named ", ""},
		{"two ABIs in a tree", trees, symsrc.Module{Name: "base.apk!libfoo.so"}, "", "", "2 different files named ", ""},
		{"installed library", trees, symsrc.Module{Name: "/data/app/x/lib/arm64/libfoo.so"}, "", "a", "", "lib/arm64-v8a/libfoo.so"},
		{"no such member", roots, symsrc.Module{Name: path, Member: "libbar.so"}, "", "", "elf not found", ""},
		{"no such offset", roots, symsrc.Module{Name: path, InArchive: off + 1}, "", "", "elf not found", ""},
		{"another build ID", roots, symsrc.Module{Name: path, Member: "libfoo.so"}, "0123", "", "elf file mismatch", ""},
		{"deflated", packed, symsrc.Module{Name: "base.apk", Member: "libfoo.so"}, idA, "a", "", ""},
		{"deflated, by name", packed, symsrc.Module{Name: "x86_64/libfoo.so"}, "", "b", "", ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			tt.m.BuildID = buildID(t, tt.id)
			f := locator(t, tt.opt).Find(t.Context(), tt.m)
			got := ""
			if f.Usable() {
				got = map[string]string{string(full.bytes()): "a", string(other.bytes()): "b"}[answered(t, f.Elf, f.ElfRange)]
			}
			if got != tt.want || got != "" && (f.ElfRange.Member != tt.member || f.Unverified != (tt.id == "")) ||
				got == "" && !strings.HasPrefix(f.Note, tt.note) {
				t.Errorf("got %q, want %q: %+v", got, tt.want, f)
			}
		})
	}
}

// TestUnpackedStays unpacks once, to a private place.
func TestUnpackedStays(t *testing.T) {
	dir := t.TempDir()
	apk(t, dir+"/s/x.aar", zip.Deflate)
	o := Options{Symbols: []string{dir + "/s"}}
	if f := find(t, locator(t, o), "", idA); f.Usable() || f.ElfStatus != symsrc.NotFound {
		t.Errorf("without a cache directory: %+v", f)
	}
	o.CacheDir = dir + "/c"
	f := find(t, locator(t, o), "", idA)
	if f.ElfStatus != symsrc.OK || !strings.HasPrefix(f.Elf, dir+"/c/members/") || f.ElfRange != (symsrc.Range{}) {
		t.Fatalf("%+v", f)
	}
	fi, err := os.Stat(f.Elf)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if again := find(t, locator(t, o), "", idA); again.Elf != f.Elf {
		t.Errorf("%+v", again)
	}
	if left, _ := filepath.Glob(dir + "/c/members/*"); len(left) != 1 {
		t.Errorf("%q: the other member was unpacked, too", left)
	}
	damaged := full
	damaged.id = idB
	for _, b := range [][]byte{damaged.bytes(), other.bytes(), make([]byte, len(full.bytes())), nil} {
		if err := os.WriteFile(f.Elf, b, 0o600); err != nil {
			t.Fatal(err)
		}
		again := find(t, locator(t, o), "", idA)
		if again.Elf != f.Elf || answered(t, f.Elf, f.ElfRange) != string(full.bytes()) {
			t.Errorf("a damaged unpacked file is not unpacked again: %+v", again)
		}
	}
}

// TestEmbedded has an ELF file in a file that is no archive, and an offset that is only one of a mapping.
func TestEmbedded(t *testing.T) {
	dir := tree(t, map[string]testELF{"libc.so": full})
	write(t, dir+"/image.bin", append(make([]byte, 5000), full.bytes()...))
	l := locator(t, Options{Rootfs: []string{dir}})
	f := l.Find(t.Context(), symsrc.Module{Name: "/image.bin", InArchive: 5000, BuildID: buildID(t, idA)})
	if f.ElfStatus != symsrc.OK || answered(t, f.Elf, f.ElfRange) != string(full.bytes()) {
		t.Errorf("%+v", f)
	}
	for _, m := range []symsrc.Module{{Name: "/libc.so", InArchive: 0x1000}, {Name: "/libc.so!libc.so", InArchive: 0x1000}, {Name: "/libc.so", Member: "libc.so"}} {
		if f := l.Find(t.Context(), m); f.ElfStatus != symsrc.OK || f.Elf != dir+"/libc.so" || !f.ElfRange.Whole() {
			t.Errorf("%+v: %+v", m, f)
		}
	}
	for _, at := range []uint64{1, 4999, 5001, 1 << 20, 1 << 63} {
		if f := l.Find(t.Context(), symsrc.Module{Name: "/image.bin", InArchive: at}); f.Usable() {
			t.Errorf("at %d: %+v", at, f)
		}
	}
}

// TestArchiveReplaced puts another archive in the place of one that was indexed.
func TestArchiveReplaced(t *testing.T) {
	dir := t.TempDir()
	apk(t, dir+"/s/base.apk", zip.Store)
	l := locator(t, Options{Symbols: []string{dir + "/s"}})
	find(t, l, "", "0102")
	write(t, dir+"/s/base.apk", zipFile(t, zipped{"lib/arm64-v8a/libfoo.so", other.bytes(), zip.Store, 64}))
	if f := find(t, l, "", idA); f.Usable() {
		t.Errorf("%+v", f)
	}
}
