package locate

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
)

// gzipped and zstandard pack a text.
func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t testing.TB, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(text), nil))
}

// TestSymbolFiles lays symbol files out below s (symbols), p (a Breakpad store), r (rootfs) and o (objects), and names those that
// must be found for /usr/lib/libx.so of build ID A.
func TestSymbolFiles(t *testing.T) {
	a, b := buildID(t, idA), buildID(t, idB)
	sym := func(id symsrc.BuildID) string { return "MODULE Linux x86_64 " + id.DebugID() + " libx.so\nFILE 0 a\n" }
	whole := func(id symsrc.BuildID) string {
		return "MODULE Linux x86_64 " + id.DebugID() + " libx.so\nINFO CODE_ID " + strings.ToUpper(id.String()) + "\n"
	}
	gsym := func(id symsrc.BuildID) string {
		return "MYSG\x01\x00\x02\x14" + strings.Repeat("\x00", 20) + string(id)
	}
	nearly := symsrc.BuildID(a[:19] + "\xff")
	store := "p/libx.so/" + a.DebugID() + "/"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"anywhere below symbols", map[string]string{"s/x/y.sym": whole(a), "s/z.txt": sym(a), "s/g": gsym(a), "s/o.sym": whole(b)}, "s/g s/x/y.sym s/z.txt"},
		{"packed", map[string]string{"s/y.sym.gz": gzipped(t, whole(a)), "s/y.sym.zst": zstandard(t, sym(a)), "s/other.gz": gzipped(t, sym(a))}, "s/y.sym.gz s/y.sym.zst"},
		{"objects before all", map[string]string{"o/x": whole(a), store + "libx.so.sym": whole(a), "s/x": sym(a)}, "o/x " + store + "libx.so.sym s/x"},
		{"a store, packed", map[string]string{store + "libx.so.sym.gz": gzipped(t, sym(a))}, store + "libx.so.sym.gz"},
		{"a store with small letters", map[string]string{strings.ToLower(store) + "libx.so.sym": sym(a)}, strings.ToLower(store) + "libx.so.sym"},
		{"a store that calls it otherwise", map[string]string{"p/libx/" + a.DebugID() + "/libx.sym": sym(a), "p/liby/" + b.DebugID() + "/liby.sym": sym(b)},
			"p/libx/" + a.DebugID() + "/libx.sym"},
		{"another file in its place", map[string]string{store + "libx.so.sym": sym(b), "r/usr/lib/libx.so.gsym": gsym(nearly)}, ""},
		{"another end of the build ID", map[string]string{store + "libx.so.sym": whole(nearly)}, ""},
		{"beside the module", map[string]string{"r/usr/lib/libx.so.gsym": gsym(a), "r/usr/lib/libx.so.sym": whole(a)}, "r/usr/lib/libx.so.gsym r/usr/lib/libx.so.sym"},
		{"no such file", map[string]string{"s/y.sym": "MODULE", "s/x.sym.gz": "\x1f\x8b", "s/x.sym.zst": "\x28\xb5\x2f\xfd", "s/w.sym": "MODULE Linux x86_64 x y\n"}, ""},
	} {
		dir := tree(t, map[string]testELF{"r/usr/lib/libx.so": stripped, "s/elf": other, "p/none": other})
		var objects []string
		for name, text := range tc.files {
			write(t, filepath.Join(dir, name), []byte(text))
			if strings.HasPrefix(name, "o/") {
				objects = append(objects, filepath.Join(dir, name))
			}
		}
		cache := filepath.Join(dir, "cache")
		for run := range 2 { // the second one from the index that is kept
			l := locator(t, Options{Objects: objects, Symbols: []string{dir + "/s"}, BreakpadDirs: []string{dir + "/p"}, Rootfs: []string{dir + "/r"}, CacheDir: cache})
			f := find(t, l, "/usr/lib/libx.so", idA)
			if got := relative(dir, f.Symbols...); got != tc.want || f.ElfStatus != symsrc.OK || f.DebugStatus != symsrc.Incomplete {
				t.Errorf("%s, run %d: got %q, %v %v, want %q", tc.name, run, got, f.ElfStatus, f.DebugStatus, tc.want)
			}
		}
	}
}

// TestSymbolFilesLack says of each place what it lacks, be there nothing, something else, or a file of another build.
func TestSymbolFilesLack(t *testing.T) {
	a, b := buildID(t, idA), buildID(t, idB)
	of := func(id symsrc.BuildID) string { return "MODULE Linux x86_64 " + id.DebugID() + " libx.so\n" }
	differs := "build ID differs: log has " + a.String() + ", DIR/PLACE has " + b.Cut().String()
	for _, tc := range []struct{ name, stored, beside, lacked, besideLacked string }{
		{name: "nothing", lacked: "no such file"},
		{name: "the right one", stored: of(a)},
		{name: "another build", stored: of(b), lacked: differs},
		{name: "something else", stored: "text\n", lacked: "no symbol file"},
		{name: "another build beside the module", beside: of(b), lacked: "no such file", besideLacked: differs},
		{name: "the right one beside the module", beside: of(a), lacked: "no such file"},
	} {
		dir := tree(t, map[string]testELF{"r/usr/lib/libx.so": stripped, "p/none": other})
		stored, beside := filepath.Join("p/libx.so", a.DebugID(), "libx.so.sym"), "r/usr/lib/libx.so.sym"
		for path, text := range map[string]string{stored: tc.stored, beside: tc.beside} {
			if text != "" {
				write(t, filepath.Join(dir, path), []byte(text))
			}
		}
		f := find(t, locator(t, Options{BreakpadDirs: []string{dir + "/p"}, Rootfs: []string{dir + "/r"}}), "/usr/lib/libx.so", idA)
		for path, want := range map[string]string{stored: tc.lacked, beside: tc.besideLacked} {
			i := slices.Index(f.Tried, filepath.Join(dir, path))
			if i < 0 {
				if want != "" || path == stored {
					t.Errorf("%s: %s is not among %q", tc.name, path, f.Tried)
				}
				continue
			}
			if got := strings.ReplaceAll(f.Lacked[i], dir, "DIR"); got != strings.ReplaceAll(want, "PLACE", path) {
				t.Errorf("%s: %s lacked %q, want %q", tc.name, path, got, want)
			}
		}
	}
}

// TestSymbolFilesOfWhom looks for them where the log has no build ID, and where there is debug information.
func TestSymbolFilesOfWhom(t *testing.T) {
	text := []byte("MODULE Linux x86_64 " + buildID(t, idA).DebugID() + " libx.so\n")
	dir := tree(t, map[string]testELF{"r/usr/lib/libx.so": stripped, "r/usr/lib/liby.so": full})
	write(t, dir+"/s/libx.sym", text)
	for _, tc := range []struct {
		name, id   string
		want       int
		unverified bool
	}{
		{"/usr/lib/libx.so", "", 1, true},  // the file at the path has the build ID
		{"/usr/lib/libz.so", "", 0, false}, // nothing has
		{"/usr/lib/liby.so", idA, 0, false},
		{"", idA, 1, false},
	} {
		l := locator(t, Options{Symbols: []string{dir + "/s"}, Rootfs: []string{dir + "/r"}})
		f := find(t, l, tc.name, tc.id)
		if len(f.Symbols) != tc.want || f.Unverified != tc.unverified {
			t.Errorf("%s %s: %+v", tc.name, tc.id, f)
		}
	}
}

// TestSymbolFilesKept compares the index of symbol files with the one that was kept.
func TestSymbolFilesKept(t *testing.T) {
	a := buildID(t, idA)
	dir := tree(t, map[string]testELF{"s/x": full})
	write(t, dir+"/s/cut.sym", []byte("MODULE Linux x86_64 "+a.DebugID()+" libx.so\n"))
	write(t, dir+"/s/x.gsym", []byte("MYSG\x01\x00\x02\x14"+strings.Repeat("\x00", 20)+string(a)))
	first, _ := indexOf(t, dir+"/s", dir+"/c")
	again, w := indexOf(t, dir+"/s", dir+"/c")
	if w.fresh != 0 || len(first.symbols[a.Cut()]) != 2 || !slices.Equal(first.symbols[a.Cut()], again.symbols[a.Cut()]) {
		t.Errorf("%d files read again\n%+v\n%+v", w.fresh, first.symbols, again.symbols)
	}
	if first.trees[0] != 1 {
		t.Errorf("%d ELF files", first.trees[0])
	}
}
