package locate

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// indexOf indexes a directory with all files in it taken for settled.
func indexOf(t testing.TB, dir, cacheDir string) (*index, *treeWalk) {
	t.Helper()
	w := newTreeWalk(dir, false, loadTree(cacheDir, dir))
	w.keeps, w.unsettled = true, time.Now().Add(time.Hour).UnixNano()
	x := newIndex()
	x.addTree(0, w.run(2))
	x.finish()
	if !w.same() {
		if err := saveTree(cacheDir, dir, w.contents()); err != nil {
			t.Fatal(err)
		}
	}
	return x, w
}

func pathsOf(x *index, id symsrc.BuildID) (paths []string) {
	for _, e := range x.byID[id] {
		paths = append(paths, e.place().String())
	}
	return paths
}

// TestTreeCache sees what changes in a tree from one run to the next.
func TestTreeCache(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/a/x": full, "s/b/y": stripped, "s/z": other})
	write(t, dir+"/s/text", []byte("text"))
	apk(t, dir+"/s/base.apk", 0)
	symlink(t, "z", dir+"/s/link")
	s, c := dir+"/s", dir+"/c"
	a, b := buildID(t, idA), buildID(t, idB)
	steps := []struct {
		what   string
		change func()
		fresh  int // files that are read
		a, b   int // files of the two build IDs
	}{
		{"first", func() {}, 6, 3, 3},
		{"again", func() {}, 0, 3, 3},
		{"new file", func() { write(t, s+"/new/x", full.bytes()) }, 1, 4, 3},
		{"removed", func() { os.Remove(s + "/new/x") }, 0, 3, 3},
		{"changed in place", func() { write(t, s+"/a/x", other.bytes()) }, 1, 2, 4},
		{"of the same size and time", func() {
			fi, _ := os.Stat(s + "/b/y")
			e := stripped
			e.id = idB
			write(t, s+"/b/y", e.bytes())
			os.Chtimes(s+"/b/y", fi.ModTime(), fi.ModTime())
		}, 1, 1, 5},
		{"replaced", func() {
			write(t, s+"/tmp", full.bytes())
			os.Rename(s+"/tmp", s+"/z")
		}, 2, 3, 3}, // and the link to it
		{"archive", func() { write(t, s+"/base.apk", zipFile(t, zipped{"x.so", full.bytes(), 0, 0})) }, 1, 3, 2},
	}
	for _, st := range steps {
		st.change()
		x, w := indexOf(t, s, c)
		if w.fresh != st.fresh || len(x.byID[a]) != st.a || len(x.byID[b]) != st.b {
			t.Errorf("%s: %d files read, want %d; %v %v", st.what, w.fresh, st.fresh, pathsOf(x, a), pathsOf(x, b))
		}
		again, _ := indexOf(t, s, c)
		if !reflect.DeepEqual(x.entries, again.entries) {
			t.Errorf("%s: the cache says\n%+v, not\n%+v", st.what, again.entries, x.entries)
		}
		plain := (&trees{dirs: []string{s}, problem: func(m string) { t.Error(m) }}).index()
		if !reflect.DeepEqual(x.entries, plain.entries) {
			t.Errorf("%s: the tree has\n%+v, not\n%+v", st.what, plain.entries, x.entries)
		}
	}
}

// TestTreeCacheDamaged takes no cache file at its word that is damaged, foreign, or of another tree.
func TestTreeCacheDamaged(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full})
	apk(t, dir+"/s/base.apk", 0)
	c := dir + "/c"
	indexOf(t, dir+"/s", c)
	path := cacheFile(c+"/trees", dir+"/s")
	good, err := os.ReadFile(path)
	if err != nil || len(loadTree(c, dir+"/s")) != 2 {
		t.Fatal("no cache file: ", err)
	}
	fi, _ := os.Stat(path)
	di, _ := os.Stat(c + "/trees")
	if fi.Mode().Perm() != 0o600 || di.Mode().Perm() != 0o700 {
		t.Errorf("modes %v %v", fi.Mode(), di.Mode())
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x55
		write(t, path, b)
		if known := loadTree(c, dir+"/s"); known != nil {
			t.Fatalf("byte %d changed: %v", i, known)
		}
		write(t, path, good[:i])
		if known := loadTree(c, dir+"/s"); known != nil {
			t.Fatalf("%d bytes left: %v", i, known)
		}
	}
	write(t, path, good)
	body := good[len(cacheMagic)+4:]
	for i := range body { // what no checksum protects: nothing panics
		r := treeReader{b: body[:i]}
		r.text()
		r.contents()
		b := bytes.Clone(body)
		b[i] ^= 0xff
		r = treeReader{b: b}
		r.text()
		r.contents()
	}
	os.Rename(path, cacheFile(c+"/trees", dir+"/other"))
	if known := loadTree(c, dir+"/other"); known != nil {
		t.Errorf("that of another tree: %v", known)
	}
	write(t, path, good)
	for _, p := range []string{path, c + "/trees"} {
		fi, _ := os.Stat(p)
		os.Chmod(p, fi.Mode().Perm()|0o055) // as a copy of the directory may have it: nothing was forged by readers
		if known := loadTree(c, dir+"/s"); len(known) != 2 {
			t.Errorf("%s may be read by others, and is not used", p)
		}
		os.Chmod(p, fi.Mode().Perm()|0o022)
		if known := loadTree(c, dir+"/s"); known != nil {
			t.Errorf("%s may be written by others, and is used", p)
		}
		if err := saveTree(c, dir+"/s", nil); (err == nil) != (p == path) {
			t.Errorf("%s may be written by others: %v", p, err)
		}
		os.Chmod(p, fi.Mode().Perm())
		write(t, path, good)
	}
}

// TestTreeCacheBounded keeps the trees used last.
func TestTreeCacheBounded(t *testing.T) {
	c := t.TempDir()
	for i := range maxCacheFiles + 5 {
		if err := saveTree(c, filepath.Join("/tree", string(rune('a'+i))), contents{{Inode: 1}: {}}); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(c + "/trees/*.tree")
	if all, _ := os.ReadDir(c + "/trees"); len(files) != maxCacheFiles || len(all) != len(files) {
		t.Errorf("%d files, %d of them trees", len(all), len(files))
	}
	// A tree that is read each day without a change is in use, however long ago it was written.
	then := time.Now().Add(-1000 * time.Hour)
	used := files[0]
	if err := os.Chtimes(used, time.Now(), then); err != nil {
		t.Fatal(err)
	}
	for _, other := range files[1:] {
		if err := os.Chtimes(other, then, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := saveTree(c, "/tree/new", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Error("the tree that was in use is gone: ", err)
	}
}

// TestTreeCacheDevices keeps apart two files that differ in nothing but the file system that they are on, as those of two images of
// one system do.
func TestTreeCacheDevices(t *testing.T) {
	c := t.TempDir()
	one := diskcache.Stamp{Device: 1, Inode: 7, Size: 100, Mtime: 1, Ctime: 1}
	other := one
	other.Device = 2
	if err := saveTree(c, "/tree", contents{one: {list: []content{{id: "one"}}}, other: {list: []content{{id: "other"}}}}); err != nil {
		t.Fatal(err)
	}
	if known := loadTree(c, "/tree"); len(known) != 2 || known[one].list[0].id != "one" || known[other].list[0].id != "other" {
		t.Errorf("%v", known)
	}
}

// TestUnsettled does not know a file by its times that was changed a moment ago.
func TestUnsettled(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full})
	(&trees{dirs: []string{dir + "/s"}, cacheDir: dir + "/c", problem: func(m string) { t.Error(m) }}).index()
	if known := loadTree(dir+"/c", dir+"/s"); len(known) != 0 {
		t.Errorf("%v", known)
	}
}

// TestNewerIndex finds a file that was built after the index was made.
func TestNewerIndex(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full})
	l := locator(t, Options{Symbols: []string{dir + "/s"}})
	find(t, l, "", idA)
	write(t, dir+"/s/y", other.bytes())
	if f := find(t, l, "", idB); f.Usable() {
		t.Error("the tree is read again at once")
	}
	l.symbols.age = -time.Hour
	l.symbols.last.began = l.symbols.last.ended
	if f := find(t, l, "built since", idB); f.Elf != dir+"/s/y" {
		t.Errorf("%+v", f)
	}
}
