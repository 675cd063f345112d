package locate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"qss-filter/symsrc"
)

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	none, file := filepath.Join(dir, "none"), write(t, filepath.Join(dir, "file"), []byte("text"))
	for _, tt := range []struct {
		opt  Options
		want string
	}{
		{Options{Symbols: []string{dir, none}}, "locate.Symbols: open " + none + ": "},
		{Options{BuildIDDirs: []string{none}}, "locate.BuildIDDirs: open " + none + ": "},
		{Options{Rootfs: []string{none}}, "locate.Rootfs: open " + none + ": "},
		{Options{Objects: []string{none}}, "locate.Objects: open " + none + ": "},
		{Options{BuildIDDirs: []string{file}}, "locate.BuildIDDirs: open " + file + ": "},
		{Options{Arguments: []string{none}}, "open " + none + ": "},
		{Options{Objects: []string{dir}}, "locate.Objects: open " + dir + ": is a directory"},
	} {
		_, err := New(tt.opt)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Count(err.Error(), dir) > 1 {
			t.Errorf("%+v: %v, want %s", tt.opt, err, tt.want)
		}
	}
}

func TestProblemsAreToldOnce(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/a/x": full, "s/b/y": other, "s/c/z": full})
	text := write(t, filepath.Join(dir, "text"), []byte("text"))
	for _, d := range []string{"s/a", "s/b"} {
		if err := os.Chmod(filepath.Join(dir, d), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(filepath.Join(dir, d), 0o755) })
	}
	withoutPrivileges(t, func() {
		if err := readableDir(filepath.Join(dir, "s/a")); err == nil || !strings.HasSuffix(err.Error(), ": permission denied") {
			t.Errorf("unreadable directory: %v", err)
		}
		var told []string
		tell := func(m string) { told = append(told, m) }
		x := (&trees{dirs: []string{filepath.Join(dir, "s")}, problem: tell, workers: 1}).index() // by this thread
		want := fmt.Sprintf("search %s/s: 2 directories cannot be read, the first: open %s/s/a: permission denied", dir, dir)
		if len(told) != 1 || told[0] != want || len(x.entries) != 1 {
			t.Errorf("told %q, want %q; found %v", told, want, x.entries)
		}
		told = nil
		l := locator(t, Options{Objects: []string{text}, OnProblem: tell})
		for range 3 {
			find(t, l, "x", idA)
		}
		if len(told) != 1 || told[0] != text+": not an ELF file" {
			t.Errorf("told %q", told)
		}
	})
}

// TestNoSymbols has a file of Symbols that is nothing which has symbols.
func TestNoSymbols(t *testing.T) {
	dir := tree(t, map[string]testELF{"y": other})
	for name, text := range map[string]string{"README": "text", "empty": ""} {
		path := write(t, filepath.Join(dir, name), []byte(text))
		_, err := New(Options{Symbols: []string{dir + "/y", path}})
		if wrong, ok := errors.AsType[*symsrc.OptionError](err); !ok || wrong.Option != "locate.Symbols" || !strings.Contains(err.Error(), path+": no file with symbols") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Symbols: []string{write(t, dir+"/damaged", []byte("\x7fELF"))}}); err != nil {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestSymbolTrees has links, hidden directories, and files that are none of ELF.
func TestSymbolTrees(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/.hidden/x": full, "elsewhere/y": other})
	write(t, dir+"/s/README", []byte("text"))
	write(t, dir+"/s/empty", nil)
	symlink(t, "../elsewhere/y", dir+"/s/link")
	symlink(t, "..", dir+"/s/up")
	symlink(t, "nowhere", dir+"/s/dangling")
	l := locator(t, Options{Symbols: []string{dir + "/s"}, OnProblem: func(m string) { t.Error(m) }})
	if f := find(t, l, "", idA); f.Elf != dir+"/s/.hidden/x" {
		t.Errorf("hidden: %+v", f)
	}
	if f := find(t, l, "", idB); f.Elf != dir+"/s/link" {
		t.Errorf("link: %+v", f)
	}
	if len(l.symbols.made().entries) != 2 {
		t.Errorf("%+v", l.symbols.made().entries)
	}
}

// A root is searched as a whole for a name without directory, but not what only seems to lie in it.
func TestRootTree(t *testing.T) {
	dir := tree(t, map[string]testELF{"r/opt/vendor/x": full, "r/proc/1/exe": other, "outside/y": {id: "0102030405"}})
	symlink(t, dir+"/outside/y", dir+"/r/opt/y")
	l := locator(t, Options{Rootfs: []string{dir + "/r"}})
	if f := find(t, l, "renamed", idA); f.Elf != dir+"/r/opt/vendor/x" || f.Unverified {
		t.Errorf("%+v", f)
	}
	for _, id := range []string{idB, "0102030405"} {
		if f := find(t, l, "renamed", id); f.Usable() {
			t.Errorf("taken from outside: %+v", f)
		}
	}
	if x := (&trees{dirs: []string{"/", "/."}, isRoot: true, problem: func(m string) { t.Error(m) }}).index(); len(x.entries) != 0 {
		t.Errorf("the host's root was indexed: %d files", len(x.entries))
	}
}

// A file that is replaced after it was indexed is verified again when it is wanted.
func TestReplacedAfterIndexing(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full, "s/y": other})
	l := locator(t, Options{Symbols: []string{dir + "/s"}})
	find(t, l, "", idB) // makes the index
	write(t, dir+"/s/x", other.bytes())
	if f := find(t, l, "", idA); f.Usable() {
		t.Errorf("%+v", f)
	}
}

func TestRemembers(t *testing.T) {
	dir := tree(t, map[string]testELF{"x": full})
	l := locator(t, Options{Rootfs: []string{dir}})
	var wg sync.WaitGroup
	answers := make([]*symsrc.Files, 16)
	for i := range answers {
		wg.Go(func() { answers[i] = find(t, l, "/x", idA) })
	}
	wg.Wait()
	os.Remove(dir + "/x")
	for i, a := range append(answers, find(t, l, "/x", idA)) {
		if a != answers[0] || a.ElfStatus != symsrc.OK {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
	if f := find(t, l, "/x", idB); f.ElfStatus != symsrc.NotFound {
		t.Errorf("another module: %+v", f)
	}
}

// TestWatches changes files that were found, and makes one that was not.
func TestWatches(t *testing.T) {
	dir := tree(t, map[string]testELF{"x": full, "y": stripped, "usr/lib/debug/y.debug": debugOf})
	write(t, dir+"/text", []byte("text"))
	l := locator(t, Options{Rootfs: []string{dir}})
	for _, c := range []struct {
		name, id, changed string
		by                []byte
	}{
		{"/x", idA, "/x", stripped.bytes()},
		{"/x", "", "/x", other.bytes()},
		{"/y", idA, "/usr/lib/debug/y.debug", other.bytes()},
		{"/later", "", "/later", full.bytes()},
		{"/text", "", "/text", full.bytes()},
	} {
		before := find(t, l, c.name, c.id)
		if before.Watch.Look() || find(t, l, c.name, c.id) != before {
			t.Errorf("%s: not remembered", c.name)
		}
		write(t, dir+c.changed+".new", c.by)
		if err := os.Rename(dir+c.changed+".new", dir+c.changed); err != nil {
			t.Fatal(err)
		}
		after := find(t, l, c.name, c.id)
		if !before.Watch.Changed() || after == before || after.Watch.Look() {
			t.Errorf("%s with %q: %+v after a change of %s", c.name, c.id, after, c.changed)
		}
	}
}

func TestForgetsWhenFull(t *testing.T) {
	l := locator(t, Options{Rootfs: []string{t.TempDir()}})
	for i := range maxMemo + 10 {
		find(t, l, fmt.Sprintf("[%d]", i), "")
	}
	if len(l.memo) > maxMemo {
		t.Errorf("%d remembered", len(l.memo))
	}
}

func TestCancelled(t *testing.T) {
	dir := tree(t, map[string]testELF{"x": full})
	l := locator(t, Options{Rootfs: []string{dir}, Symbols: []string{dir}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := symsrc.Module{Name: "/x", BuildID: buildID(t, idA)}
	if f := l.Find(ctx, m); f.ElfStatus != symsrc.UnknownError || f.Usable() {
		t.Errorf("%+v", f)
	}
	r, _ := l.entry(m)
	l.run(ctx, m, r) // a search whose context ends while it runs
	if r.files != nil || len(l.memo) != 0 {
		t.Errorf("remembered: %+v", r.files)
	}
	if f := l.Find(t.Context(), m); f.ElfStatus != symsrc.OK {
		t.Errorf("afterwards: %+v", f)
	}
}

// BenchmarkFind is a cold search for one module: no memory, a warm page cache.
func BenchmarkFind(b *testing.B) {
	root := "../../testdata/rootfs"
	for name, id := range map[string]string{
		"/usr/lib/liba.so":          "a1444a3789f54d28206804931d1b4756450e1f16",
		"/usr/lib/libdemo-1.2.3.so": "529039c4877f2b56918b2063129d06669b993be2",
		"/usr/lib/libnone.so":       idA,
	} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			m := symsrc.Module{Name: name, BuildID: buildID(b, id)}
			b.ReportAllocs()
			for b.Loop() {
				l := locator(b, Options{Rootfs: []string{root}})
				l.Find(b.Context(), m)
			}
		})
	}
}

// BenchmarkFindAgain is what every further frame of a module costs.
func BenchmarkFindAgain(b *testing.B) {
	l := locator(b, Options{Rootfs: []string{"../../testdata/rootfs"}})
	m := symsrc.Module{Name: "/usr/lib/liba.so", BuildID: buildID(b, "a1444a3789f54d28206804931d1b4756450e1f16")}
	b.ReportAllocs()
	for b.Loop() {
		l.Find(b.Context(), m)
	}
}
