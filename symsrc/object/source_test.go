package object

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"qss-filter/symsrc"
)

// fixedFiles is a finder with fixed files. It counts its calls.
type fixedFiles struct {
	files map[string]*symsrc.Files // by the module's name
	asked int
}

func (f *fixedFiles) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	f.asked++
	return f.files[m.Name]
}

// stage copies a file of testdata to a temporary directory, and returns the path of the copy.
func stage(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func ask(s *Source, m symsrc.Module, addr uint64) symsrc.Answer {
	return s.Frames(context.Background(), symsrc.Addr{Module: m, Offset: addr})
}

func TestSource(t *testing.T) {
	gcc, clang := stage(t, "gcc5.elf"), stage(t, "clang4-zlib.elf")
	f := open(t, gcc)
	id, addr := f.BuildID(), findSymbol(t, f, "_Z5otheri")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no ELF file"), 0o644); err != nil {
		t.Fatal(err)
	}
	ok := func(elf, debug string) *symsrc.Files { return &symsrc.Files{Elf: elf, Debug: debug} }
	for _, c := range []struct {
		name       string
		id         symsrc.BuildID
		files      *symsrc.Files
		function   string
		elf, debug symsrc.Status
	}{
		{"executable", id, ok(gcc, ""), "other(int)", symsrc.OK, symsrc.OK},
		{"both", id, ok(gcc, gcc), "other(int)", symsrc.OK, symsrc.OK},
		{"no build ID wanted", "", ok(gcc, ""), "other(int)", symsrc.OK, symsrc.OK},
		{"wrong executable", id, ok(clang, ""), "", symsrc.MismatchBuildID, symsrc.OK},
		{"wrong debug file", id, ok(gcc, clang), "other(int)", symsrc.OK, symsrc.MismatchBuildID},
		{"wrong debug file, unverified", "", ok(gcc, clang), "other(int)", symsrc.OK, symsrc.MismatchBuildID},
		{"text, unverified", "", ok(text, gcc), "other(int)", symsrc.NotELF, symsrc.OK},
		{"text is not opened with a complete debug file", id, ok(text, gcc), "other(int)", symsrc.OK, symsrc.OK},
		{"gone", id, ok(text+"x", ""), "", symsrc.NotFound, symsrc.OK},
		{"directory", id, ok(filepath.Dir(text), ""), "", symsrc.ReadError, symsrc.OK},
		{"unusable", id, &symsrc.Files{Elf: gcc, ElfStatus: symsrc.NoReadPermission}, "", symsrc.NoReadPermission, symsrc.OK},
		{"nothing", id, nil, "", symsrc.NotFound, symsrc.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := symsrc.Files{}
			if c.files != nil {
				before = *c.files
			}
			s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": c.files}})
			a := ask(s, symsrc.Module{Name: "m", BuildID: c.id}, addr)
			got := ""
			if len(a.Frames) > 0 {
				got = a.Frames[len(a.Frames)-1].Func
			}
			if got != c.function || a.Files == nil || a.Files.ElfStatus != c.elf || a.Files.DebugStatus != c.debug {
				t.Errorf("%q, %+v", got, a.Files)
			}
			if c.files != nil && (c.files.ElfStatus != before.ElfStatus || c.files.Note != before.Note) {
				t.Errorf("the finder's Files were changed: %+v", c.files)
			}
		})
	}
}

// TestSourceData looks up a variable.
func TestSourceData(t *testing.T) {
	path := stage(t, "gcc5.elf")
	addr := findSymbol(t, open(t, path), "table")
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}})
	q := symsrc.Addr{Module: symsrc.Module{Name: "m"}, Offset: addr + 9, Kind: symsrc.Data}
	a := s.Frames(context.Background(), q)
	if len(a.Frames) != 1 || a.Frames[0].Func != "table" || a.Frames[0].Offset != 9 {
		t.Errorf("%+v", a.Frames)
	}
}

// TestSourceChanged replaces the file with one of another build.
func TestSourceChanged(t *testing.T) {
	path, other := stage(t, "gcc5.elf"), stage(t, "clang4-zlib.elf")
	f := open(t, path)
	addr, id := findSymbol(t, f, "_Z5otheri"), f.BuildID()
	finder := &fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}}
	s := NewSource(finder)
	m := symsrc.Module{Name: "m", BuildID: id}
	if a := ask(s, m, addr); len(a.Frames) == 0 {
		t.Fatalf("no frames: %+v", a.Files)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	s.module(m).checked.Store(0) // check for changes on disk
	if a := ask(s, m, addr); len(a.Frames) != 0 || a.Files.ElfStatus != symsrc.MismatchBuildID || finder.asked != 2 {
		t.Errorf("%+v, %+v, asked %d times", a.Frames, a.Files, finder.asked)
	}
}

// TestSourceTruncated truncates a mapped file, so that reading it is a fault: first after the parts in its fingerprint, then completely.
func TestSourceTruncated(t *testing.T) {
	path := stage(t, "gcc5.elf")
	f := open(t, path)
	addr := findSymbol(t, f, "_Z5otheri")
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}})
	m := symsrc.Module{Name: "m", BuildID: f.BuildID()}
	if a := ask(s, m, 1); len(a.Frames) != 0 || !a.Files.Usable() {
		t.Fatalf("%+v, %+v", a.Frames, a.Files)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	s.module(m).checked.Store(math.MaxInt64) // prevents the check for changes on disk
	for range 2 {
		a := ask(s, m, addr)
		if len(a.Frames) != 0 || a.Files.ElfStatus != symsrc.ReadError || a.Files.Note == "" {
			t.Errorf("%+v, %+v", a.Frames, a.Files)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if a := ask(s, m, addr); len(a.Frames) != 0 || a.Files.ElfStatus != symsrc.NotELF {
		t.Errorf("%+v, %+v", a.Frames, a.Files)
	}
}

// TestSourceCanceled checks that a search that ended with its context is repeated.
func TestSourceCanceled(t *testing.T) {
	path := stage(t, "gcc5.elf")
	addr := findSymbol(t, open(t, path), "_Z5otheri")
	finder := &fixedFiles{files: map[string]*symsrc.Files{}}
	s := NewSource(finder)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if a := s.Frames(ctx, symsrc.Addr{Module: symsrc.Module{Name: "m"}, Offset: addr}); len(a.Frames) != 0 || a.Files == nil {
		t.Errorf("%+v", a)
	}
	finder.files["m"] = &symsrc.Files{Elf: path}
	if a := ask(s, symsrc.Module{Name: "m"}, addr); len(a.Frames) == 0 {
		t.Errorf("%+v", a.Files)
	}
}

// TestSourceConcurrent asks from several goroutines about more modules than fit in memory.
func TestSourceConcurrent(t *testing.T) {
	path := filepath.Join("testdata", "clang4-zlib.elf")
	addrs := codeAddresses(t, path, 7)
	f := open(t, path)
	want := make([]string, len(addrs))
	for i, a := range addrs {
		want[i] = render(f.Code(a))
	}
	names := make([]string, 72)
	files := make(map[string]*symsrc.Files)
	for i := range names {
		names[i] = string(rune('A' + i))
		files[names[i]] = &symsrc.Files{Elf: path}
	}
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files { return files[m.Name] }))
	const memory = 8 << 20
	s.UseMemory(memory)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i, a := range addrs {
				name := names[0]
				if i%3 == 0 {
					name = names[(i/3+g*11)%len(names)]
				}
				if got := render(ask(s, symsrc.Module{Name: name}, a).Frames); got != want[i] {
					t.Errorf("%#x: %s, want %s", a, got, want[i])
				}
			}
		})
	}
	wg.Wait()
	// Modules that were in use during an eviction were not closed then.
	files["last"] = &symsrc.Files{Elf: path}
	ask(s, symsrc.Module{Name: "last"}, addrs[0])
	open, inUse := 0, int64(0)
	for _, m := range s.modules {
		if m.weight.Load() > 0 {
			open++
			inUse += m.weight.Load()
		}
	}
	if inUse > memory || inUse != s.inUse.Load() || open < 2 {
		t.Errorf("%d modules are open, with %d bytes; %d bytes are counted", open, inUse, s.inUse.Load())
	}
}

// TestSourceShared asks by many names about the same files of a build: they are opened once, also after they were closed, and are not
// shared with other files of the build or with unverified ones.
func TestSourceShared(t *testing.T) {
	path, other := stage(t, "gcc5.elf"), stage(t, "gcc5.elf")
	f := open(t, path)
	id, addr := f.BuildID(), findSymbol(t, f, "_Z5otheri")
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files {
		if m.Name == "other" {
			return &symsrc.Files{Elf: other}
		}
		return &symsrc.Files{Elf: path, Unverified: m.BuildID == ""}
	}))
	opened := func() (n int) {
		for m := range s.open {
			if m.weight.Load() > 0 {
				n++
			}
		}
		return n
	}
	check := func(name string, id symsrc.BuildID) {
		t.Helper()
		if a := ask(s, symsrc.Module{Name: name, BuildID: id}, addr); len(a.Frames) == 0 || a.Frames[len(a.Frames)-1].Func != "other(int)" {
			t.Fatalf("%s: %+v, %+v", name, a.Frames, a.Files)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				check(strconv.Itoa(g*50+i), id)
			}
		})
	}
	wg.Wait()
	if n := opened(); n != 1 {
		t.Errorf("%d modules are open for one file", n)
	}
	check("other", id)
	check("0", "")
	if n := opened(); n != 3 {
		t.Errorf("%d modules are open for two files, and one without a build", n)
	}
	s.UseMemory(0)
	check("other", id) // evicts the other modules
	check("7", id)
	if n := opened(); n != 1 {
		t.Errorf("%d modules are open without memory", n)
	}
	for i := range maxModules {
		check("m"+strconv.Itoa(i), id)
	}
	if n := len(s.modules); n > maxModules {
		t.Errorf("%d modules are known", n)
	}
}

// TestSourceSharedDebug asks by many names about a build with only a debug file: it is opened once, the Files in answers depend on the
// name, and a library that appears later is used for its name.
func TestSourceSharedDebug(t *testing.T) {
	path, library := stage(t, "gcc5.elf"), stage(t, "gcc5.elf")
	f := open(t, path)
	id, addr := f.BuildID(), findSymbol(t, f, "_Z5otheri")
	var exists atomic.Bool
	found := 0
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files {
		found++
		if m.Name == "7" && exists.Load() {
			return &symsrc.Files{Elf: library, Debug: path}
		}
		return &symsrc.Files{Elf: "/lib/" + m.Name, ElfStatus: symsrc.NotFound, Debug: path, Note: "no library",
			Watch: symsrc.NewWatch(func() bool { return m.Name == "7" && exists.Load() })}
	}))
	check := func(name, elf string) {
		t.Helper()
		a := ask(s, symsrc.Module{Name: name, BuildID: id}, addr)
		if len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" || a.Files.Elf != elf {
			t.Errorf("%s: %+v, %+v", name, a.Frames, a.Files)
		}
	}
	for range 3 {
		for i := range 20 {
			check(strconv.Itoa(i), "/lib/"+strconv.Itoa(i))
		}
	}
	one := s.module(symsrc.Module{Name: "0", BuildID: id})
	if len(s.shared) != 1 || s.inUse.Load() != one.weight.Load() || found != 20 {
		t.Errorf("%d shared files with %d bytes, want %d; searched %d times", len(s.shared), s.inUse.Load(), one.weight.Load(), found)
	}
	exists.Store(true)
	for _, n := range s.aliases {
		n.checked.Store(0)
	}
	for range 2 {
		check("7", library)
		check("8", "/lib/8")
	}
	if len(s.shared) != 2 || found != 21 {
		t.Errorf("%d shared files, searched %d times", len(s.shared), found)
	}
	// The answers for all names have the errors of the files.
	s = NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files {
		return &symsrc.Files{Elf: path, Debug: filepath.Join("testdata", "none"), Detail: m.Name}
	}))
	for range 2 {
		for i := range 3 {
			a := ask(s, symsrc.Module{Name: strconv.Itoa(i), BuildID: id}, addr)
			if len(a.Frames) == 0 || a.Files.DebugStatus != symsrc.NotFound || a.Files.Note == "" || a.Files.Detail != strconv.Itoa(i) {
				t.Errorf("%d: %+v, %+v", i, a.Frames, a.Files)
			}
		}
	}
}

// TestSourceForgets asks by more names than are kept: the files of forgotten names are still opened once.
func TestSourceForgets(t *testing.T) {
	path := stage(t, "gcc5.elf")
	id := open(t, path).BuildID()
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files { return &symsrc.Files{Elf: path} }))
	for i := range 3 * maxModules {
		ask(s, symsrc.Module{Name: strconv.Itoa(i), BuildID: id}, 0)
	}
	if one := s.module(symsrc.Module{Name: "0", BuildID: id}); len(s.modules) > maxModules || len(s.aliases) >= maxModules || s.inUse.Load() != one.weight.Load() {
		t.Errorf("%d modules and %d aliases, %d bytes, want %d", len(s.modules), len(s.aliases), s.inUse.Load(), one.weight.Load())
	}
}

// TestSourceMissing asks about modules with and without a file: an eviction must iterate over the open ones only, because otherwise its
// cost would grow with each module.
func TestSourceMissing(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files {
		if m.Member == "" {
			return &symsrc.Files{Elf: path}
		}
		return &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}))
	ask(s, symsrc.Module{Name: "0"}, 0)
	const most = 64
	s.UseMemory(most*s.inUse.Load() + fileWeight)
	for i := range 3 * most {
		ask(s, symsrc.Module{Name: strconv.Itoa(i)}, 0)
		ask(s, symsrc.Module{Name: strconv.Itoa(i), Member: "missing"}, 0)
		if want := min(i+1, most); len(s.open) != want || len(s.modules) != 2*(i+1) {
			t.Fatalf("after %d of each, an eviction checks %d of %d modules, want %d", i+1, len(s.open), len(s.modules), want)
		}
	}
}

type finderFunc func(symsrc.Module) *symsrc.Files

func (f finderFunc) Find(_ context.Context, m symsrc.Module) *symsrc.Files { return f(m) }
