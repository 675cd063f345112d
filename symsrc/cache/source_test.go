//go:build linux || darwin

package cache

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

const many = 1000

// connect waits until the Source has its cache.
func connect(t *testing.T, s *Source) {
	t.Helper()
	if !s.begin() || !s.client.settle(time.Now().Add(time.Minute)) {
		t.Fatal("no cache is reached")
	}
}

// unhurried raises the timeout of queries to the cache, for a test that counts its answers.
func unhurried(t *testing.T) {
	t.Helper()
	before := askTime
	askTime = time.Minute
	t.Cleanup(func() { askTime = before })
}

func TestColdAndWarm(t *testing.T) {
	dir := tempDir(t)
	warm(t, dir, many)
	for _, gone := range []bool{false, true} {
		e := &engine{gone: gone}
		s, w := source(t, dir, e)
		if got := ask(s, 0, many); got != expected(0, many) {
			t.Errorf("files gone %v: a warm cache changes answers", gone)
		}
		s.Close()
		w.check(t)
		// It is asked for addresses without a name, and may be asked while the process starts.
		if n := e.asked.Load(); n > many/2 {
			t.Errorf("files gone %v: the engine was asked for %d of %d", gone, n, many)
		} else if asked, answered := s.Hits(); answered < many/2 || asked-answered > n {
			t.Errorf("files gone %v: %d hits of %d, though the engine was asked %d times", gone, answered, asked, n)
		}
	}
}

func TestPrefetch(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	warm(t, dir, many)
	e := &engine{gone: true}
	s, w := source(t, dir, e)
	connect(t, s)
	before := s.client.nextID.Load()
	var qs []symsrc.Expected
	for i := range many {
		qs = append(qs, symsrc.Expected{Addr: addr(i)})
	}
	s.Prefetch(context.Background(), qs)
	s.Prefetch(context.Background(), qs[:1])
	s.Prefetch(context.Background(), nil)
	if got := ask(s, 0, many); got != expected(0, many) {
		t.Error("answers asked for ahead differ")
	}
	if asked := s.client.nextID.Load() - before; asked != 1 {
		t.Errorf("the process was asked %d times", asked)
	}
	s.Close()
	w.check(t)
}

// answers is a source with one answer and one result of Probe.
type answers struct {
	symsrc.Answer
	asked  int
	probed int
	probe  symsrc.Probe
}

func (a *answers) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	a.asked++
	return a.Answer
}

func (a *answers) Probe(context.Context, symsrc.Addr) symsrc.Probe {
	a.probed++
	return a.probe
}

func (a *answers) Find(context.Context, symsrc.Module) *symsrc.Files { return a.Files }

// TestWorth asks for one answer twice. It may be stored only if no other file could add to it.
func TestWorth(t *testing.T) {
	unhurried(t)
	good := symsrc.Frame{Func: "f", Linkage: "f", File: "/f.c", Line: 3, Origin: symsrc.SymbolAndDebug}
	inlined := symsrc.Frame{Func: "g", File: "/g.c", Line: 3}
	as := func(o symsrc.Origin) symsrc.Frame { f := good; f.Origin = o; return f }
	files := &symsrc.Files{Elf: "/x"}
	frames := func(f ...symsrc.Frame) []symsrc.Frame { return f }
	for name, c := range map[string]struct {
		symsrc.Answer
		kind symsrc.Kind
		kept bool
	}{
		"good":             {symsrc.Answer{Frames: frames(good), Files: files}, symsrc.Code, true},
		"inlined":          {symsrc.Answer{Frames: frames(inlined, good), Files: files}, symsrc.Code, true},
		"variable":         {symsrc.Answer{Frames: frames(symsrc.Frame{Func: "v", Offset: 4}), Files: files}, symsrc.Data, true},
		"short":            {symsrc.Answer{Frames: frames(good), Files: files}, symsrc.ShortCode, false},
		"no name":          {symsrc.Answer{Files: files}, symsrc.Code, false},
		"nameless inlined": {symsrc.Answer{Frames: frames(symsrc.Frame{File: "/g.c"}, good), Files: files}, symsrc.Code, false},
		"symbol":           {symsrc.Answer{Frames: frames(as(symsrc.SymbolOnly)), Files: files}, symsrc.Code, true},
		"symbol in unit":   {symsrc.Answer{Frames: frames(as(symsrc.SymbolInUnit)), Files: files}, symsrc.Code, true},
		"debug only":       {symsrc.Answer{Frames: frames(as(symsrc.DebugOnly)), Files: files}, symsrc.Code, false},
		"partial":          {symsrc.Answer{Frames: frames(good), Files: files, Partial: true}, symsrc.Code, false},
		"unverified":       {symsrc.Answer{Frames: frames(good), Files: &symsrc.Files{Elf: "/x", Unverified: true}}, symsrc.Code, false},
		"no debug":         {symsrc.Answer{Frames: frames(good), Files: &symsrc.Files{Elf: "/x", DebugStatus: symsrc.Incomplete}}, symsrc.Code, false},
		"unchanged": {symsrc.Answer{Frames: frames(good), Files: &symsrc.Files{Elf: "/x", Watch: symsrc.NewWatch(func() bool { return false })}},
			symsrc.Code, true},
		"changed": {symsrc.Answer{Frames: frames(good), Files: &symsrc.Files{Elf: "/x", Watch: symsrc.NewWatch(func() bool { return true })}},
			symsrc.Code, false},
		"unknown files": {symsrc.Answer{Frames: frames(good)}, symsrc.Code, false},
		"large": {symsrc.Answer{Frames: frames(symsrc.Frame{Func: strings.Repeat("f", maxAnswer), Origin: symsrc.SymbolAndDebug}),
			Files: files}, symsrc.Code, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			a := &answers{Answer: c.Answer}
			q := symsrc.Addr{Module: symsrc.Module{BuildID: "id"}, Kind: c.kind}
			for range 2 {
				s := Wrap(a, Options{Dir: dir, Program: program})
				t.Cleanup(func() { stop(t, dir) })
				connect(t, s)
				if got := s.Frames(context.Background(), q); text(got) != text(c.Answer) {
					t.Errorf("the answer is %v", got)
				}
				s.Close()
			}
			if kept := a.asked == 1; kept != c.kept {
				t.Errorf("kept is %v", kept)
			}
		})
	}
}

// TestKeys sends queries that differ in one field from one with a stored answer.
func TestKeys(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	a := &answers{Answer: symsrc.Answer{Files: &symsrc.Files{},
		Frames: []symsrc.Frame{{Func: "f", Origin: symsrc.SymbolAndDebug}}}}
	kept := symsrc.Addr{Module: symsrc.Module{Name: "/x", BuildID: "id"}, Offset: 1}
	run := func(q symsrc.Addr, o Options) bool {
		t.Helper()
		o.Dir, a.asked = dir, 0
		s := Wrap(a, o)
		t.Cleanup(func() { stop(t, dir) })
		connect(t, s)
		s.Frames(context.Background(), q)
		s.Close()
		return a.asked == 0
	}
	run(kept, Options{Program: program})
	same := kept
	same.Module.Name = "/lib/y" // the build ID identifies it
	if !run(kept, Options{Program: program}) || !run(same, Options{Program: program}) {
		t.Error("the same query is not answered")
	}
	for i, change := range []func(*symsrc.Addr){
		func(q *symsrc.Addr) { q.Offset++ }, func(q *symsrc.Addr) { q.Kind = symsrc.Data }, func(q *symsrc.Addr) { q.Space = symsrc.InFile },
		func(q *symsrc.Addr) { q.Module.BuildID += "0" }, func(q *symsrc.Addr) { q.Module.BuildID = "" },
	} {
		q := kept
		change(&q)
		if run(q, Options{Program: program}) {
			t.Errorf("change %d is answered by what is kept", i)
		}
	}
	if run(kept, Options{Engine: "other", Program: program}) {
		t.Error("another engine's answer is given")
	}
}

// TestFilesWithoutBuildID checks that the answers of files without a build ID are stored until the files change.
func TestFilesWithoutBuildID(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	path := filepath.Join(t.TempDir(), "x")
	a := &answers{Answer: symsrc.Answer{Files: &symsrc.Files{Elf: path, Unverified: true},
		Frames: []symsrc.Frame{{Func: "f", Origin: symsrc.SymbolAndDebug}}}}
	ask := func() *symsrc.Files {
		s := Wrap(a, Options{Dir: dir, Program: program, Finder: a})
		t.Cleanup(func() { stop(t, dir) })
		connect(t, s)
		defer s.Close()
		return s.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "x"}}).Files
	}
	for i, c := range []struct {
		content string
		asked   int
	}{{"", 1}, {"", 1}, {"other", 2}, {"other", 2}, {"OTHER", 3}, {"OTHER", 3}} {
		if i%2 == 0 {
			rewrite(t, path, c.content)
		}
		if files := ask(); files != a.Files || a.asked != c.asked {
			t.Errorf("step %d: asked %d times, want %d; files %v", i, a.asked, c.asked, files)
		}
	}
}

// TestMade checks that a stored answer says which files it is from, and how old these were.
func TestMade(t *testing.T) {
	dir, path := tempDir(t), filepath.Join(t.TempDir(), "x")
	made := time.Unix(1234567890, 123456789)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, made, made); err != nil {
		t.Fatal(err)
	}
	a := &answers{Answer: symsrc.Answer{Files: &symsrc.Files{Elf: path}, Frames: []symsrc.Frame{{Func: "f", Origin: symsrc.SymbolAndDebug}}}}
	for range 2 {
		s := Wrap(a, Options{Dir: dir, Program: program})
		t.Cleanup(func() { stop(t, dir) })
		connect(t, s)
		got := s.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{BuildID: "id"}})
		s.Close()
		if got.Files == a.Files { // the cache may have been too slow to be the one that answers
			continue
		}
		if !got.Made.Equal(made) || !reflect.DeepEqual(got.Files, a.Files) {
			t.Errorf("the files are %+v, made at %v, want %+v, %v", got.Files, got.Made, a.Files, made)
		}
	}
}

func TestProbe(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	want := symsrc.Probe{Known: true, Linked: 0x1234567890, Returns: true, CallDistance: 1}
	a := &answers{probe: want, Answer: symsrc.Answer{Files: &symsrc.Files{Elf: "/x"},
		Frames: []symsrc.Frame{{Func: "f", Origin: symsrc.SymbolAndDebug}}}}
	q := symsrc.Addr{Module: symsrc.Module{BuildID: "id"}, Offset: 5, Space: symsrc.InImage}
	for range 2 {
		s := Wrap(a, Options{Dir: dir, Program: program, Finder: a})
		t.Cleanup(func() { stop(t, dir) })
		connect(t, s)
		if got := s.Probe(context.Background(), q); got != want {
			t.Errorf("the code shows %+v", got)
		}
		s.Frames(context.Background(), q) // without an answer, what the code shows is useless, and not stored
		s.Close()
	}
	if a.probed != 1 {
		t.Errorf("the code was looked at %d times", a.probed)
	}
	if got := Wrap(&engine{}, Options{Dir: dir, Program: program, Finder: a}).Probe(context.Background(), q); got != (symsrc.Probe{}) {
		t.Errorf("a source that cannot tell shows %+v", got)
	}
}

func TestOff(t *testing.T) {
	dir := tempDir(t)
	w := &warnings{}
	s := Wrap(&engine{}, Options{Dir: dir, Program: program, Off: true, Warn: w.add})
	if ask(s, 0, 20) != expected(0, 20) {
		t.Error("answers differ")
	}
	s.Close()
	w.check(t)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}

// rewrite overwrites a file in place, with a time of modification that is always the same.
func rewrite(t *testing.T, path, content string) {
	t.Helper()
	for before := fileIdentity(path); ; {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if fileIdentity(path) != before { // the clock of the file system is coarse
			return
		}
	}
}
