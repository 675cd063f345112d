package object

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestLate asks about a module that takes longer to read than the time limit. It has no frames until it is read, and no other query
// about it is begun meanwhile.
func TestLate(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	f := open(t, path)
	addr := findSymbol(t, f, "_Z5otheri")
	finder := &fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}}
	s := NewSource(finder)
	var warnings []string
	s.Warn(func(message string) { warnings = append(warnings, message) })
	waited := 0
	s.after = func(time.Duration) *time.Timer { waited++; return time.NewTimer(0) }
	m := s.module(symsrc.Module{Name: "m"})
	m.mu.Lock() // as if it were being read
	var a symsrc.Answer
	for range 3 {
		a = ask(s, symsrc.Module{Name: "m"}, addr)
		if len(a.Frames) > 0 || a.Files.Usable() || a.Files.Note == "" || a.Files.Retry == nil || a.Files.Retry() {
			t.Fatalf("%+v, %+v", a.Frames, a.Files)
		}
		if p := s.Probe(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "m"}, Offset: addr}); p.Known {
			t.Errorf("%+v", p)
		}
	}
	if waited != 1 || finder.asked != 1 || len(warnings) != 1 {
		t.Errorf("waited %d times, searched %d times, warnings %q", waited, finder.asked, warnings)
	}
	m.mu.Unlock()
	for !a.Files.Retry() {
		runtime.Gosched()
	}
	s.after = time.NewTimer
	if a := ask(s, symsrc.Module{Name: "m"}, addr); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" || finder.asked != 1 {
		t.Errorf("%+v, %+v, searched %d times", a.Frames, a.Files, finder.asked)
	}
}

// TestLateCanceled checks that the wait ends with the context.
func TestLateCanceled(t *testing.T) {
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: filepath.Join("testdata", "gcc5.elf")}}})
	m := s.module(symsrc.Module{Name: "m"})
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	if a := s.Frames(ctx, symsrc.Addr{Module: symsrc.Module{Name: "m"}}); len(a.Frames) > 0 || a.Files.Retry == nil {
		t.Errorf("%+v", a)
	}
}

// TestPatience checks that simultaneous waits count once, and that there is always a minimal wait.
func TestPatience(t *testing.T) {
	var p deadline
	if left := p.begin(time.Hour); left != time.Hour {
		t.Errorf("%v", left)
	}
	p.begin(time.Hour)
	p.since = p.since.Add(-time.Minute)
	p.end(nil)
	if p.spent != 0 {
		t.Errorf("%v spent while another query waits", p.spent)
	}
	p.end(nil)
	if p.spent < time.Minute {
		t.Errorf("%v spent", p.spent)
	}
	p.spent = 2 * time.Hour
	if left := p.begin(time.Hour); left != leastWait {
		t.Errorf("%v", left)
	}
}

// TestQuick checks that only the first query about a module with small files has a timeout, and only the first ones about a module
// with large files.
func TestQuick(t *testing.T) {
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: filepath.Join("testdata", "gcc5.elf")}}})
	waited := 0
	s.after = func(d time.Duration) *time.Timer { waited++; return time.NewTimer(d) }
	m := symsrc.Module{Name: "m"}
	for range 4 {
		ask(s, m, 0x1000)
	}
	if waited != 1 {
		t.Errorf("waited %d times", waited)
	}
	s.module(m).close()
	ask(s, m, 0x1000)
	s.module(m).opened[0].elf.Budget.Grow(quickSize + 1)
	s.module(m).deadline.quick.Store(false)
	for range 2 * firstQueries {
		ask(s, m, 0x1000)
	}
	if want := 1 + firstQueries + 1; waited != want {
		t.Errorf("waited %d times, want %d", waited, want)
	}
}

// TestLateUnit asks about an address in a large unit after the first queries about a module with large files. This query has a
// timeout, which does not count as time for the module; later ones do not wait while it is running.
func TestLateUnit(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	f := open(t, path)
	addr := findSymbol(t, f, "_Z5otheri")
	key := symsrc.Module{Name: "m"}
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}})
	var warnings []string
	s.Warn(func(message string) { warnings = append(warnings, message) })
	waited, limit := 0, time.Hour
	s.after = func(time.Duration) *time.Timer { waited++; return time.NewTimer(limit) }
	ask(s, key, 0)
	m := s.module(key)
	m.opened[0].elf.Budget.Grow(quickSize + 1)
	m.deadline.quick.Store(false)
	for range firstQueries {
		ask(s, key, 0)
	}
	if !m.deadline.quick.Load() || !m.deadline.large.Load() {
		t.Fatal("the first queries are not over")
	}
	ask(s, key, addr) // opens its unit
	waited = 0
	if ask(s, key, addr); waited != 0 {
		t.Errorf("waited %d times for a small unit", waited)
	}
	limit = 0
	read := make(chan struct{})
	large := func() (frames []symsrc.Frame, files *symsrc.Files) {
		frames, files, _ = inTime(context.Background(), s, symsrc.Addr{Module: key, Offset: addr}, func(*File, symsrc.Addr) bool { return true }, func(m *module, q symsrc.Addr, files *symsrc.Files) []symsrc.Frame {
			<-read
			return m.ask(q, files).Frames
		})
		return frames, files
	}
	var files *symsrc.Files
	for range 3 {
		var frames []symsrc.Frame
		if frames, files = large(); len(frames) > 0 || files.Note == "" || files.Retry == nil || files.Retry() {
			t.Fatalf("%+v, %+v", frames, files)
		}
	}
	if waited != 1 || len(warnings) != 1 || m.deadline.spent > s.wait {
		t.Errorf("waited %d times, warnings %q, %v spent", waited, warnings, m.deadline.spent)
	}
	close(read)
	for !files.Retry() {
		runtime.Gosched()
	}
	limit = time.Hour
	for range 2 {
		if frames, files := large(); len(frames) != 1 || frames[0].Func != "other(int)" {
			t.Errorf("%+v, %+v", frames, files)
		}
	}
}

// TestLateByAnyName asks by several names about files that take longer to read than the time limit: only one query waits.
func TestLateByAnyName(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	f := open(t, path)
	id, addr := f.BuildID(), findSymbol(t, f, "_Z5otheri")
	s := NewSource(finderFunc(func(m symsrc.Module) *symsrc.Files { return &symsrc.Files{Elf: path} }))
	key := func(name string) symsrc.Module { return symsrc.Module{Name: name, BuildID: id} }
	ask(s, key("first"), addr)
	waited := 0
	s.after = func(time.Duration) *time.Timer { waited++; return time.NewTimer(0) }
	first := s.module(key("first"))
	spent := first.deadline.spent
	first.mu.Lock() // as if it were being read
	var a symsrc.Answer
	for _, name := range []string{"second", "third", "second", "fourth"} {
		if a = ask(s, key(name), addr); len(a.Frames) > 0 || a.Files.Retry == nil || a.Files.Retry() {
			t.Fatalf("%s: %+v, %+v", name, a.Frames, a.Files)
		}
	}
	if waited != 1 || first.deadline.spent != spent {
		t.Errorf("waited %d times, %v of the time of the first module spent", waited, first.deadline.spent-spent)
	}
	first.mu.Unlock()
	for !a.Files.Retry() {
		runtime.Gosched()
	}
	s.after = time.NewTimer
	for _, name := range []string{"first", "second", "fourth"} {
		if a := ask(s, key(name), addr); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" {
			t.Errorf("%s: %+v, %+v", name, a.Frames, a.Files)
		}
	}
}
