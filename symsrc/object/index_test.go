package object

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// indexing returns a source that uses indexes in dir, of files of any size.
func indexing(t *testing.T, path, dir string) *Source {
	t.Helper()
	return indexingFiles(t, &symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}, dir)
}

// indexingFiles is indexing for any files of a module.
func indexingFiles(t *testing.T, files *symsrc.Files, dir string) *Source {
	t.Helper()
	s := NewSource(fixedFinder{files})
	s.UseIndexes(dir, "a program", nil)
	if s.indexes == nil && dir != "" {
		t.Skip("this system has no indexes")
	}
	if s.indexes != nil {
		s.indexes.min = 1
	}
	return s
}

// writeIndex writes the index of a file.
func writeIndex(t *testing.T, path, dir string) {
	t.Helper()
	if err := indexing(t, path, dir).writeIndex(t.Context(), symsrc.Module{Name: path}); err != nil {
		t.Fatal(err)
	}
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

// allAnswers looks up every step-th address of code.
func allAnswers(t *testing.T, s *Source, path string, step uint64) (all [][]symsrc.Frame) {
	t.Helper()
	for _, a := range codeAddresses(t, path, step) {
		all = append(all, ask(s, symsrc.Module{Name: path}, a).Frames)
	}
	return all
}

// allDetails looks up every step-th address of code, with details.
func allDetails(t *testing.T, s *Source, path string, step uint64) (all []symsrc.Answer) {
	t.Helper()
	for _, a := range codeAddresses(t, path, step) {
		got := s.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: a, Kind: symsrc.Detailed})
		all = append(all, symsrc.Answer{Frames: got.Frames, Details: got.Details})
	}
	return all
}

// usesIndex reports whether a module of a source is open and answers from an index.
func usesIndex(s *Source, key symsrc.Module) bool {
	m := s.module(key)
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.index().isUsed()
}

// indexFiles returns the names of the files in the directory of indexes except the lock.
func indexFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != indexLock {
			names = append(names, e.Name())
		}
	}
	return names
}

// indexedBuilds are builds with different debug information.
var indexedBuilds = []build{
	{name: "zlib", compiler: "g++", flags: "-gdwarf-5 -O2 -gz=zlib -Wl,--build-id"},
	{name: "zlib without ID", compiler: clang, flags: "-gdwarf-4 -O1 --target=i686-linux-gnu" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zlib"},
	{name: "zstd", compiler: clang, flags: "-gdwarf-5 -O2 -ffunction-sections" + lld, then: "llvm-objcopy-22 --compress-debug-sections=zstd"},
	{name: "not optimized", compiler: "g++", flags: "-gdwarf-4 -O0"},
	{name: "DWARF 3", compiler: "g++", flags: "-gdwarf-3 -O3"},
}

// TestIndex checks that all answers are the same without an index and with it.
func TestIndex(t *testing.T) {
	for _, b := range indexedBuilds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			checkIndex(t, path)
		})
	}
	files, err := filepath.Glob("testdata/*.elf")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range files {
		if f, err := Open(path); err != nil {
			continue
		} else if indexed := f.HasDebug() && f.elf.Type != elf.ET_REL; f.Close() != nil || !indexed {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) { checkIndex(t, path) })
		checked++
	}
	if checked < 5 {
		t.Errorf("only %d files of testdata", checked)
	}
}

// TestIndexOfFolded checks that an index has the names of folded functions.
func TestIndexOfFolded(t *testing.T) {
	need(t, "clang-22")
	need(t, "ld.lld-22")
	dir := t.TempDir()
	source, path := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.elf")
	const text = `volatile int V;
__attribute__((noinline)) int charge(int x) { V += 5; V += 6; return x + V; }
__attribute__((noinline)) int other(int x) { V += 6; return x + V; }
__attribute__((noinline)) int refund(int x) { V += 5; V += 6; return x + V; }
void _start(void) { charge(1); refund(2); other(3); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "clang-22", "-g", "-O1", "-ffunction-sections", "-nostdlib", "-static", "--ld-path=ld.lld-22", "-Wl,--icf=all", "-o", path, source)
	folded := 0
	for _, frames := range allAnswers(t, indexing(t, path, ""), path, 1) {
		if n := len(frames); n > 0 && frames[n-1].Folded == "charge\nrefund" {
			folded++
		}
	}
	if folded == 0 {
		t.Fatal("no function is folded")
	}
	checkIndex(t, path)
}

// checkIndex compares the answers for a file.
func checkIndex(t *testing.T, path string) {
	t.Helper()
	dir, m := t.TempDir(), symsrc.Module{Name: path}
	plain := indexing(t, path, "")
	want, wantDetails := allAnswers(t, plain, path, 1), allDetails(t, plain, path, 1)
	if err := indexing(t, path, dir).writeIndex(t.Context(), m); err != nil {
		if errors.Is(err, errMissing) { // the files of split units are not in testdata
			t.Skip(err)
		}
		t.Fatal(err)
	}
	s := indexing(t, path, dir)
	if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
		for i, a := range codeAddresses(t, path, 1) {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%#x:\n got %+v\nwant %+v", a, got[i], want[i])
			}
		}
	}
	if got := allDetails(t, s, path, 1); !reflect.DeepEqual(got, wantDetails) {
		for i, a := range codeAddresses(t, path, 1) {
			if !reflect.DeepEqual(got[i], wantDetails[i]) {
				t.Fatalf("details at %#x:\n got %+v\nwant %+v", a, got[i], wantDetails[i])
			}
		}
	}
	if !usesIndex(s, m) {
		t.Error("the index is not used")
	}
	names := indexFiles(t, dir)
	if len(names) != 1 || strings.HasPrefix(names[0], diskcache.TempPrefix) {
		t.Fatalf("files %q", names)
	}
	if stat, err := os.Stat(filepath.Join(dir, "index", names[0])); err != nil || stat.Mode() != 0o600 {
		t.Errorf("%v %v", stat.Mode(), err)
	}
	if stat, err := os.Stat(filepath.Join(dir, "index")); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v", err)
	}
	before, after := indexStat(t, dir), error(nil)
	if after = s.writeIndex(t.Context(), m); after != nil || !os.SameFile(before, indexStat(t, dir)) {
		t.Errorf("it was written again: %v", after)
	}
}

// indexStat returns the FileInfo of the only index.
func indexStat(t *testing.T, dir string) os.FileInfo {
	t.Helper()
	stat, err := os.Stat(filepath.Join(dir, "index", indexFiles(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return stat
}

// TestIndexWanted checks when an index is asked for: once, at the second query, unless the file is small or new. The paths of the job are
// absolute, since the process that writes the index has another working directory.
func TestIndexWanted(t *testing.T) {
	path, fresh := aged(t, "clang4-zlib.elf"), stage(t, "clang4-zlib.elf")
	t.Chdir(filepath.Dir(path))
	for name, c := range map[string]struct {
		path          string
		min           int64
		queries, want int
	}{
		"one query":    {path, 1, 1, 0},
		"two queries":  {path, 1, 2, 1},
		"relative":     {filepath.Base(path), 1, 2, 1},
		"many queries": {path, 1, 20, 1},
		"small":        {path, minIndexed, 20, 0},
		"new":          {fresh, 1, 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := make(chan IndexJob, 10)
			s := NewSource(fixedFinder{&symsrc.Files{Elf: c.path, DebugStatus: symsrc.NotFound}})
			s.UseIndexes(t.TempDir(), "a program", func(j IndexJob) { jobs <- j })
			if s.indexes == nil {
				t.Skip("this system has no indexes")
			}
			s.indexes.min = c.min
			for _, a := range codeAddresses(t, c.path, 1)[:c.queries] {
				ask(s, symsrc.Module{Name: c.path}, a)
			}
			s.WaitIndexes()
			if len(jobs) != c.want {
				t.Errorf("%d jobs, want %d", len(jobs), c.want)
			}
			for range len(jobs) {
				if j := <-jobs; j.Elf != path || j.Debug != "" || j.DebugStatus != symsrc.NotFound {
					t.Errorf("%+v", j)
				}
			}
		})
	}
}

// TestIndexJob checks that a job writes the index of the files that its source has opened, in whatever way they were found.
func TestIndexJob(t *testing.T) {
	path := aged(t, "gcc5.elf")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id := f.BuildID()
	f.Close()
	debug, stripped := path+".debug", path+".stripped"
	for _, args := range [][]string{{"--only-keep-debug", path, debug}, {"--strip-debug", path, stripped}} {
		if out, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Skipf("objcopy (Debian: binutils): %v: %s", err, out)
		}
	}
	age(t, debug)
	age(t, stripped)
	for name, files := range map[string]*symsrc.Files{
		"program":               {Elf: path, DebugStatus: symsrc.NotFound},
		"debug file":            {Debug: debug, ElfStatus: symsrc.NotFound},
		"both":                  {Elf: stripped, ElfStatus: symsrc.Incomplete, Debug: debug},
		"both, unverified":      {Elf: stripped, ElfStatus: symsrc.Incomplete, Debug: debug, Unverified: true},
		"at the program's path": {Elf: debug, ElfStatus: symsrc.NotFound, Debug: debug, Unverified: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := t.TempDir(), symsrc.Module{Name: path, BuildID: id}
			s := indexingFiles(t, files, dir)
			jobs := make(chan IndexJob, 1)
			s.indexes.build = func(j IndexJob) { jobs <- j }
			for range 2 {
				ask(s, m, 1)
			}
			job := <-jobs
			other, key := job.source(dir, "a program")
			other.indexes.min = 1
			if err := other.writeIndex(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			s = indexingFiles(t, files, dir)
			if ask(s, m, 1); !usesIndex(s, m) {
				t.Errorf("%+v: the index is not used", job)
			}
		})
	}
}

// TestIndexTruncated truncates a mapped index: the answers come from the object again.
func TestIndexTruncated(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, indexing(t, path, ""), path, 1)
	for _, size := range []int64{0, indexPage, indexPage + 1} {
		writeIndex(t, path, dir)
		s := indexing(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); !usesIndex(s, m) {
			t.Fatal("no index")
		}
		if err := os.Truncate(filepath.Join(dir, "index", indexFiles(t, dir)[0]), size); err != nil {
			t.Fatal(err)
		}
		if size%indexPage != 0 { // the rest of the page reads as zeros
			s.module(m).checked.Store(0) // check for changes on disk
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("truncated to %d bytes: other answers", size)
		}
		if usesIndex(s, m) {
			t.Errorf("truncated to %d bytes: it is still used", size)
		}
	}
}

// TestIndexChangedObject checks that an index is not used after the object has changed.
func TestIndexChangedObject(t *testing.T) {
	path, other, dir := aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf"), t.TempDir()
	writeIndex(t, path, dir)
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
	s := indexing(t, path, dir)
	if got, want := allAnswers(t, s, path, 1), allAnswers(t, indexing(t, other, ""), other, 1); !reflect.DeepEqual(got, want) {
		t.Error("answers of the old file")
	}
	if usesIndex(s, symsrc.Module{Name: path}) {
		t.Error("the index of the old file is used")
	}
}

// TestIndexOtherProgram checks that an index of another program is not used.
func TestIndexOtherProgram(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	writeIndex(t, path, dir)
	s := indexing(t, path, dir)
	s.indexes.program += "x"
	if ask(s, symsrc.Module{Name: path}, 1); usesIndex(s, symsrc.Module{Name: path}) {
		t.Error("it is used")
	}
}

// TestIndexAtOnce writes indexes from several sources to one directory.
func TestIndexAtOnce(t *testing.T) {
	paths, dir := []string{aged(t, "clang4-zlib.elf"), aged(t, "ppc64-zstd.elf")}, t.TempDir()
	want := [][][]symsrc.Frame{allAnswers(t, indexing(t, paths[0], ""), paths[0], 4), allAnswers(t, indexing(t, paths[1], ""), paths[1], 4)}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			s := indexing(t, paths[i%2], dir)
			_ = s.writeIndex(t.Context(), symsrc.Module{Name: paths[i%2]}) // another one may be writing
			if got := allAnswers(t, s, paths[i%2], 4); !reflect.DeepEqual(got, want[i%2]) {
				t.Errorf("source %d: other answers", i)
			}
		})
	}
	all.Wait()
	for i, path := range paths {
		writeIndex(t, path, dir)
		s := indexing(t, path, dir)
		if got := allAnswers(t, s, path, 4); !reflect.DeepEqual(got, want[i]) || !usesIndex(s, symsrc.Module{Name: path}) {
			t.Errorf("%s: other answers, or no index", path)
		}
	}
	if names := indexFiles(t, dir); len(names) != 2 {
		t.Errorf("files %q", names)
	}
}
