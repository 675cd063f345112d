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

// keeping is a source that keeps copies of files of any size in dir.
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

// aged copies a file of testdata, as if it were a year old.
func aged(t *testing.T, name string) string {
	t.Helper()
	path := stage(t, name)
	age(t, path)
	return path
}

func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().AddDate(-1, 0, 0)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// allAnswers asks for every step-th address of code, and waits until the source has written what it writes.
func allAnswers(t *testing.T, s *Source, path string, step uint64) (all [][]symsrc.Frame) {
	t.Helper()
	m := symsrc.Module{Name: path}
	for _, a := range codeAddresses(t, path, step) {
		all = append(all, ask(s, m, a).Frames)
	}
	settleCopies(s, m)
	return all
}

// settleCopies waits for what is written beside the questions, and reports whether the module's file uses a copy.
func settleCopies(s *Source, key symsrc.Module) (mapped bool) {
	m := s.module(key)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.opened {
		f.prefetch.running.Wait()
		mapped = mapped || f.unpacked.isMapped()
	}
	return mapped
}

// copyFiles are the names in the directory of copies, without that of the lock.
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

// compressedBuilds are all ways to pack that the package reads.
var compressedBuilds = []build{
	{name: "zlib", compiler: "g++", flags: "-gdwarf-5 -O2 -gz=zlib -Wl,--build-id"},
	{name: "zlib-gnu", compiler: "g++", flags: "-gdwarf-5 -O2", then: "objcopy --compress-debug-sections=zlib-gnu"},
	{name: "zlib without ID", compiler: clang, flags: "-gdwarf-4 -O1 --target=i686-linux-gnu" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zlib"},
	{name: "zstd", compiler: clang, flags: "-gdwarf-5 -O2 -ffunction-sections" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zstd"},
}

// TestUnpacked has the same answers without a copy, while it is written, and with it.
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
		if mapped := settleCopies(s, symsrc.Module{Name: path}); mapped != warm {
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

// TestUnpackedNone: files that have no compressed sections, or are not worth it, or have just been made, have no copies.
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

// TestUnpackedOnce: who asks once makes no copy.
func TestUnpackedOnce(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	s := keeping(t, path, dir)
	m := symsrc.Module{Name: path}
	ask(s, m, codeAddresses(t, path, 1)[0])
	settleCopies(s, m)
	if _, err := os.Stat(filepath.Join(dir, "unpacked")); err == nil {
		t.Error("something was written")
	}
}

// TestUnpackedCutOff truncates the copy under the mapping: the answers come from the object again.
func TestUnpackedCutOff(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, keeping(t, path, dir), path, 1)
	for _, size := range []int64{0, copyPage, 2*copyPage + 1} {
		s := keeping(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); !settleCopies(s, m) {
			t.Fatal("no copy")
		}
		kept := filepath.Join(dir, "unpacked", copyFiles(t, dir)[0])
		if err := os.Truncate(kept, size); err != nil {
			t.Fatal(err)
		}
		if size%copyPage != 0 { // the rest of the page reads as zeros
			s.module(m).checked.Store(0) // as if a second had gone by
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("cut off at %d: other answers", size)
		}
		if settleCopies(s, m) {
			t.Errorf("cut off at %d: it is still used", size)
		}
		allAnswers(t, keeping(t, path, dir), path, 1) // makes it again
	}
}

// TestUnpackedChangedObject: a copy is that of one file as it was.
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
		t.Error("answers of the file before")
	}
	if settleCopies(s, symsrc.Module{Name: path}) {
		t.Error("the copy of the file before is used")
	}
}

// TestUnpackedAtOnce has several sources write to one directory.
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
		if got := allAnswers(t, s, path, 4); !reflect.DeepEqual(got, want[i]) || !settleCopies(s, symsrc.Module{Name: path}) {
			t.Errorf("%s: other answers, or no copy", path)
		}
	}
	if names := copyFiles(t, dir); len(names) != 2 {
		t.Errorf("files %q", names)
	}
}
