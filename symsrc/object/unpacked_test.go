package object

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// keeping returns a source that keeps copies of files of any size in dir.
func keeping(t *testing.T, path, dir string) *Source {
	t.Helper()
	s := NewSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
	s.KeepUnpacked(dir)
	if s.unpacked == nil && dir != "" {
		t.Skip("this system has no unpacked copies")
	}
	if s.unpacked != nil {
		s.unpacked.min = 1
	}
	return s
}

// aged returns the path of a copy of a file of testdata with the modification time of a year ago.
func aged(t *testing.T, name string) string {
	t.Helper()
	path := stage(t, name)
	age(t, path)
	return path
}

// age sets the modification time of a file to a year ago.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().AddDate(-1, 0, 0)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// allAnswers looks up every step-th address of code, and waits until the source has finished writing.
func allAnswers(t *testing.T, s *Source, path string, step uint64) (all [][]symsrc.Frame) {
	t.Helper()
	m := symsrc.Module{Name: path}
	for _, a := range codeAddresses(t, path, step) {
		all = append(all, ask(s, m, a).Frames)
	}
	waitForCopies(s, m)
	return all
}

// waitForCopies waits for the background goroutines of a module, and reports whether its file uses a copy.
func waitForCopies(s *Source, key symsrc.Module) (mapped bool) {
	m := s.module(key)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.opened {
		f.prefetch.running.Wait()
		mapped = mapped || f.unpacked.isMapped()
	}
	return mapped
}

// copyFiles returns the names of the files in the directory of copies except the lock.
func copyFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "unpacked"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

// compressedBuilds are builds with all supported kinds of compression.
var compressedBuilds = []build{
	{name: "zlib", compiler: "g++", flags: "-gdwarf-5 -O2 -gz=zlib -Wl,--build-id"},
	{name: "zlib-gnu", compiler: "g++", flags: "-gdwarf-5 -O2", then: "objcopy --compress-debug-sections=zlib-gnu"},
	{name: "zlib without ID", compiler: clang, flags: "-gdwarf-4 -O1 --target=i686-linux-gnu" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zlib"},
	{name: "zstd", compiler: clang, flags: "-gdwarf-5 -O2 -ffunction-sections" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zstd"},
}

// TestUnpacked checks that the answers are the same without a copy, while it is written, and with it.
func TestUnpacked(t *testing.T) {
	for _, b := range compressedBuilds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			age(t, path)
			checkUnpacked(t, path)
		})
	}
	for _, name := range []string{"clang4-zlib.elf", "ppc64-zstd.elf"} {
		t.Run(name, func(t *testing.T) { checkUnpacked(t, aged(t, name)) })
	}
}

func checkUnpacked(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	want := allAnswers(t, keeping(t, path, ""), path, 1)
	for i, warm := range []bool{false, true, true} {
		s := keeping(t, path, dir)
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("run %d: other answers", i)
		}
		if mapped := waitForCopies(s, symsrc.Module{Name: path}); mapped != warm {
			t.Errorf("run %d: the copy is used: %v", i, mapped)
		}
		names := copyFiles(t, dir)
		if len(names) != 1 || strings.HasPrefix(names[0], diskcache.TempPrefix) {
			t.Fatalf("run %d: files %q", i, names)
		}
		stat, err := os.Stat(filepath.Join(dir, "unpacked", names[0]))
		if err != nil || stat.Mode() != 0o600 {
			t.Errorf("run %d: %v %v", i, stat.Mode(), err)
		}
	}
	if stat, err := os.Stat(filepath.Join(dir, "unpacked")); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v", err)
	}
}

// TestUnpackedNone checks that files that are small, or new, or have no compressed sections, have no copies.
func TestUnpackedNone(t *testing.T) {
	small, fresh, plain := aged(t, "clang4-zlib.elf"), stage(t, "clang4-zlib.elf"), aged(t, "gcc5.elf")
	for path, min := range map[string]int64{small: minUnpacked, fresh: 1, plain: 1} {
		dir := t.TempDir()
		s := keeping(t, path, dir)
		s.unpacked.min = min
		allAnswers(t, s, path, 8)
		if _, err := os.Stat(filepath.Join(dir, "unpacked")); err == nil && len(copyFiles(t, dir)) > 0 {
			t.Errorf("%s, from %d bytes on: %q", path, min, copyFiles(t, dir))
		}
	}
}

// TestUnpackedOnce checks that one query does not create a copy.
func TestUnpackedOnce(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	s := keeping(t, path, dir)
	m := symsrc.Module{Name: path}
	ask(s, m, codeAddresses(t, path, 1)[0])
	waitForCopies(s, m)
	if _, err := os.Stat(filepath.Join(dir, "unpacked")); err == nil {
		t.Error("something was written")
	}
}

// TestUnpackedTruncated truncates a mapped copy: the answers come from the object again.
func TestUnpackedTruncated(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, keeping(t, path, dir), path, 1)
	for _, size := range []int64{0, copyPage, 2*copyPage + 1} {
		s := keeping(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); !waitForCopies(s, m) {
			t.Fatal("no copy")
		}
		kept := filepath.Join(dir, "unpacked", copyFiles(t, dir)[0])
		if err := os.Truncate(kept, size); err != nil {
			t.Fatal(err)
		}
		if size%copyPage != 0 { // the rest of the page reads as zeros
			s.module(m).checked.Store(0) // check for changes on disk
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("truncated to %d bytes: other answers", size)
		}
		if waitForCopies(s, m) {
			t.Errorf("truncated to %d bytes: it is still used", size)
		}
		allAnswers(t, keeping(t, path, dir), path, 1) // writes it again
	}
}

// TestUnpackedChangedObject checks that a copy is not used after the object has changed.
func TestUnpackedChangedObject(t *testing.T) {
	path, other, dir := aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf"), t.TempDir()
	allAnswers(t, keeping(t, path, dir), path, 1)
	then, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, then.ModTime(), then.ModTime()); err != nil {
		t.Fatal(err)
	}
	s := keeping(t, path, dir)
	if got, want := allAnswers(t, s, path, 1), allAnswers(t, keeping(t, other, ""), other, 1); !reflect.DeepEqual(got, want) {
		t.Error("answers of the old file")
	}
	if waitForCopies(s, symsrc.Module{Name: path}) {
		t.Error("the copy of the old file is used")
	}
}

// TestUnpackedAtOnce writes copies from several sources to one directory.
func TestUnpackedAtOnce(t *testing.T) {
	paths, dir := []string{aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf")}, t.TempDir()
	want := [][][]symsrc.Frame{allAnswers(t, keeping(t, paths[0], ""), paths[0], 4), allAnswers(t, keeping(t, paths[1], ""), paths[1], 4)}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if got := allAnswers(t, keeping(t, paths[i%2], dir), paths[i%2], 4); !reflect.DeepEqual(got, want[i%2]) {
				t.Errorf("source %d: other answers", i)
			}
		})
	}
	all.Wait()
	for i, path := range paths {
		allAnswers(t, keeping(t, path, dir), path, 4)
		s := keeping(t, path, dir)
		if got := allAnswers(t, s, path, 4); !reflect.DeepEqual(got, want[i]) || !waitForCopies(s, symsrc.Module{Name: path}) {
			t.Errorf("%s: other answers, or no copy", path)
		}
	}
	if names := copyFiles(t, dir); len(names) != 2 {
		t.Errorf("files %q", names)
	}
}
