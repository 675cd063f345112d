package elfdwarf

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestLate asks a module that takes longer to be read than questions wait. Its frames have no names until it is read, nothing
// else is begun meanwhile, and then it answers.
func TestLate(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	f := open(t, path)
	addr := findSymbol(t, f, "_Z5otheri")
	finder := &fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}}
	s := NewSource(finder)
	var told []string
	s.Warn(func(message string) { told = append(told, message) })
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
	if waited != 1 || finder.asked != 1 || len(told) != 1 {
		t.Errorf("waited %d times, looked for it %d times, told %q", waited, finder.asked, told)
	}
	m.mu.Unlock()
	for !a.Files.Retry() {
		runtime.Gosched()
	}
	s.after = time.NewTimer
	if a := ask(s, symsrc.Module{Name: "m"}, addr); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" || finder.asked != 1 {
		t.Errorf("%+v, %+v, looked for it %d times", a.Frames, a.Files, finder.asked)
	}
}

// TestLateCanceled ends the wait with the context.
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

// TestPatience counts the time that several wait at once one time, and never waits for nothing at all.
func TestPatience(t *testing.T) {
	var p patience
	if left := p.begin(time.Hour); left != time.Hour {
		t.Errorf("%v", left)
	}
	p.begin(time.Hour)
	p.since = p.since.Add(-time.Minute)
	p.end(nil)
	if p.spent != 0 {
		t.Errorf("%v spent while another one waits", p.spent)
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

// TestQuick waits for the first question of a module with small files, and for the first ones of one with large files.
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
	s.module(m).opened[0].budget.size.Store(quickSize + 1)
	s.module(m).patience.quick.Store(false)
	for range 2 * firstQuestions {
		ask(s, m, 0x1000)
	}
	if want := 1 + firstQuestions + 1; waited != want {
		t.Errorf("waited %d times, want %d", waited, want)
	}
}
