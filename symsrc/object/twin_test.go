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

// twinned is a source that keeps twins of files of any size in dir.
func twinned(t *testing.T, path, dir string) *Source {
	t.Helper()
	s := NewSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
	s.KeepTwins(dir)
	if s.twins == nil && dir != "" {
		t.Skip("this system has no twins")
	}
	if s.twins != nil {
		s.twins.min = 1
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
	settleTwins(s, m)
	return all
}

// settleTwins waits for what is written beside the questions, and tells whether the module's file uses a twin.
func settleTwins(s *Source, key symsrc.Module) (mapped bool) {
	m := s.module(key)
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.opened {
		f.ahead.running.Wait()
		mapped = mapped || f.twin != nil && f.twin.mapped != nil
	}
	return mapped
}

// twinFiles are the names in the directory of twins, without that of the lock.
func twinFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "twins"))
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

// TestTwin has the same answers without a twin, while it is written, and with it.
func TestTwin(t *testing.T) {
	for _, b := range compressedBuilds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			age(t, path)
			checkTwin(t, path)
		})
	}
	for _, name := range []string{"clang4-zlib.elf", "ppc64-zstd.elf"} {
		t.Run(name, func(t *testing.T) { checkTwin(t, aged(t, name)) })
	}
}

func checkTwin(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	want := allAnswers(t, twinned(t, path, ""), path, 1)
	for i, warm := range []bool{false, true, true} {
		s := twinned(t, path, dir)
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("run %d: other answers", i)
		}
		if mapped := settleTwins(s, symsrc.Module{Name: path}); mapped != warm {
			t.Errorf("run %d: the twin is used: %v", i, mapped)
		}
		names := twinFiles(t, dir)
		if len(names) != 1 || strings.HasPrefix(names[0], diskcache.TempPrefix) {
			t.Fatalf("run %d: files %q", i, names)
		}
		stat, err := os.Stat(filepath.Join(dir, "twins", names[0]))
		if err != nil || stat.Mode() != 0o600 {
			t.Errorf("run %d: %v %v", i, stat.Mode(), err)
		}
	}
	if stat, err := os.Stat(filepath.Join(dir, "twins")); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v", err)
	}
}

// TestTwinNone: files that have no compressed sections, or are not worth it, or have just been made, have no twins.
func TestTwinNone(t *testing.T) {
	small, fresh, plain := aged(t, "clang4-zlib.elf"), stage(t, "clang4-zlib.elf"), aged(t, "gcc5.elf")
	for path, min := range map[string]int64{small: minTwin, fresh: 1, plain: 1} {
		dir := t.TempDir()
		s := twinned(t, path, dir)
		s.twins.min = min
		allAnswers(t, s, path, 8)
		if _, err := os.Stat(filepath.Join(dir, "twins")); err == nil && len(twinFiles(t, dir)) > 0 {
			t.Errorf("%s, from %d bytes on: %q", path, min, twinFiles(t, dir))
		}
	}
}

// TestTwinOnce: who asks once makes no twin.
func TestTwinOnce(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	s := twinned(t, path, dir)
	m := symsrc.Module{Name: path}
	ask(s, m, codeAddresses(t, path, 1)[0])
	settleTwins(s, m)
	if _, err := os.Stat(filepath.Join(dir, "twins")); err == nil {
		t.Error("something was written")
	}
}

// TestTwinCutOff truncates the twin under the mapping: the answers come from the object again.
func TestTwinCutOff(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, twinned(t, path, dir), path, 1)
	for _, size := range []int64{0, twinPage, 2*twinPage + 1} {
		s := twinned(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); !settleTwins(s, m) {
			t.Fatal("no twin")
		}
		twin := filepath.Join(dir, "twins", twinFiles(t, dir)[0])
		if err := os.Truncate(twin, size); err != nil {
			t.Fatal(err)
		}
		if size%twinPage != 0 { // the rest of the page reads as zeros
			s.module(m).checked.Store(0) // as if a second had gone by
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("cut off at %d: other answers", size)
		}
		if settleTwins(s, m) {
			t.Errorf("cut off at %d: it is still used", size)
		}
		allAnswers(t, twinned(t, path, dir), path, 1) // makes it anew
	}
}

// TestTwinChangedObject: a twin is that of one file as it was.
func TestTwinChangedObject(t *testing.T) {
	path, other, dir := aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf"), t.TempDir()
	allAnswers(t, twinned(t, path, dir), path, 1)
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
	s := twinned(t, path, dir)
	if got, want := allAnswers(t, s, path, 1), allAnswers(t, twinned(t, other, ""), other, 1); !reflect.DeepEqual(got, want) {
		t.Error("answers of the file before")
	}
	if settleTwins(s, symsrc.Module{Name: path}) {
		t.Error("the twin of the file before is used")
	}
}

// TestTwinsAtOnce has several sources write to one directory.
func TestTwinsAtOnce(t *testing.T) {
	paths, dir := []string{aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf")}, t.TempDir()
	want := [][][]symsrc.Frame{allAnswers(t, twinned(t, paths[0], ""), paths[0], 4), allAnswers(t, twinned(t, paths[1], ""), paths[1], 4)}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if got := allAnswers(t, twinned(t, paths[i%2], dir), paths[i%2], 4); !reflect.DeepEqual(got, want[i%2]) {
				t.Errorf("source %d: other answers", i)
			}
		})
	}
	all.Wait()
	for i, path := range paths {
		allAnswers(t, twinned(t, path, dir), path, 4)
		s := twinned(t, path, dir)
		if got := allAnswers(t, s, path, 4); !reflect.DeepEqual(got, want[i]) || !settleTwins(s, symsrc.Module{Name: path}) {
			t.Errorf("%s: other answers, or no twin", path)
		}
	}
	if names := twinFiles(t, dir); len(names) != 2 {
		t.Errorf("files %q", names)
	}
}
