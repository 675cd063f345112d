package llvm

import (
	"context"
	"io"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
	"qss-filter/symsrc"
)

// TestKnownLines holds that lines in the cache have the same output as lines that are not.
func TestKnownLines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, moved := range []bool{false, true} {
			log := filtertest.Processes(20, moved, end)
			for _, o := range []Options{{}, {Color: true, Errors: io.Discard}} {
				o.Symbols = &filtertest.Symbols{}
				want := filtertest.Feed(New(o), log) // line by line
				if got := runAll(t, o, strings.NewReader(log)); got != want {
					t.Errorf("moved %v, end %q: got %q\nwant %q", moved, end, filtertest.Cut(got), filtertest.Cut(want))
				}
			}
		}
	}
}

// TestKnownLinesCost holds that lines in the cache allocate no memory.
func TestKnownLinesCost(t *testing.T) {
	log := []byte(strings.ReplaceAll(filtertest.Processes(20, true, "\n"), "text\n", ""))
	f := New(Options{Symbols: &filtertest.Symbols{}})
	dst := make([]byte, 0, 10*len(log))
	if allocated := testing.AllocsPerRun(3, func() {
		if _, used := f.Lines(context.Background(), dst, log); used != len(log) {
			t.Errorf("%d of %d bytes are known", used, len(log))
		}
	}); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
}

// late is a source with partial answers until it has its file. Its answers can be asked again then.
type late struct {
	have, news bool
	times      int
	all        filtertest.Symbols
}

func (s *late) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	s.times++
	s.news = false
	if s.have {
		return s.all.Frames(ctx, q)
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "some"}}, Partial: true, Files: &symsrc.Files{
		Elf: "/lib/a.so", DebugStatus: symsrc.Incomplete, Retry: func() bool { return s.news },
	}}
}

// TestAnswersAskedAgain holds that an element says more once its module's file is there, and that no source is asked before.
func TestAnswersAskedAgain(t *testing.T) {
	s := &late{}
	f := New(Options{Symbols: s})
	filtertest.Feed(f, "{{{reset}}}\n{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n")
	for i, step := range []struct {
		have, news bool
		times      int
		full       bool
	}{
		{false, false, 1, false}, {true, false, 1, false}, {true, true, 2, true}, {true, true, 2, true},
	} {
		s.have, s.news = step.have, step.news
		if out := filtertest.Feed(f, "{{{pc:0x1020}}}\n"); s.times != step.times || strings.Contains(out, "/src/p.c:3") != step.full {
			t.Errorf("step %d: asked %d times: %s", i, s.times, out)
		}
	}
}
