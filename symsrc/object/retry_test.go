package object

import (
	"context"
	"sync/atomic"
	"testing"

	"qss-filter/symsrc"
)

// lateFiles is a finder whose files appear when have is set. Until then, Retry of its Files returns news.
type lateFiles struct {
	before, after *symsrc.Files
	news, have    atomic.Bool
	asked         int
}

// Find implements symsrc.Finder.
func (l *lateFiles) Find(context.Context, symsrc.Module) *symsrc.Files {
	l.asked++
	l.news.Store(false)
	if l.have.Load() {
		return l.after
	}
	files := *l.before
	files.Retry = l.news.Load
	return &files
}

// TestRetry checks that a module is found again after the finder has news.
func TestRetry(t *testing.T) {
	path := stage(t, "gcc5.elf")
	f := open(t, path)
	addr := findSymbol(t, f, "_Z5otheri")
	for name, before := range map[string]*symsrc.Files{
		"nothing":  {ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound},
		"unusable": {Elf: path + ".none", DebugStatus: symsrc.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			late := &lateFiles{before: before, after: &symsrc.Files{Elf: path}}
			s := NewSource(late)
			q := symsrc.Module{Name: "a", BuildID: f.BuildID()}
			steps := []struct {
				news, have bool
				asked      int
				resolved   bool
			}{
				{false, false, 1, false},
				{false, false, 1, false}, // without news the finder is not called
				{true, false, 2, false},
				{false, true, 2, false},
				{true, true, 3, true},
				{true, true, 3, true},
			}
			for i, step := range steps {
				late.news.Store(step.news)
				late.have.Store(step.have)
				a := ask(s, q, addr)
				if late.asked != step.asked || (len(a.Frames) > 0) != step.resolved || a.Partial == step.resolved {
					t.Errorf("step %d: asked %d times, %d frames, partial %v", i, late.asked, len(a.Frames), a.Partial)
				}
			}
		})
	}
}

// TestWatched checks that files are found again after their Watch has noticed a change, whether they are usable or not.
func TestWatched(t *testing.T) {
	path := stage(t, "gcc5.elf")
	addr := findSymbol(t, open(t, path), "_Z5otheri")
	for name, files := range map[string]*symsrc.Files{
		"usable": {Elf: path, Unverified: true},
		"none":   {Elf: path, ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound},
	} {
		changed := true
		files.Watch = symsrc.NewWatch(func() bool { return changed })
		finder := &fixedFiles{files: map[string]*symsrc.Files{"a": files}}
		s := NewSource(finder)
		m := symsrc.Module{Name: "a"}
		for range 2 {
			if ask(s, m, addr); finder.asked != 1 {
				t.Errorf("%s: asked %d times before the change was noticed", name, finder.asked)
			}
		}
		files.Watch.Look()
		changed = false
		finder.files["a"] = &symsrc.Files{Elf: path, Unverified: true, Watch: symsrc.NewWatch(func() bool { return changed })}
		for range 2 {
			if a := ask(s, m, addr); finder.asked != 2 || a.Files != finder.files["a"] || len(a.Frames) == 0 {
				t.Errorf("%s: asked %d times: %+v", name, finder.asked, a)
			}
		}
	}
}
