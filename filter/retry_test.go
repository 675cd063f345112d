package filter_test

import (
	"context"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// lateSymbols knows little until it has its file, and says so: then asking again brings more.
type lateSymbols struct {
	little []symsrc.Frame
	have   bool
	news   bool
	times  int
	all    symbols
}

func (s *lateSymbols) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	s.times++
	s.news = false
	if s.have {
		return s.all.Frames(ctx, q)
	}
	return symsrc.Answer{Frames: s.little, Partial: true, Files: &symsrc.Files{
		Elf: "/lib/a.so", DebugStatus: symsrc.Incomplete, Retry: func() bool { return s.news },
	}}
}

// TestAnswersAskedAgain: the same frame says more once its module's file is there, and no source is asked before.
func TestAnswersAskedAgain(t *testing.T) {
	const layout = "{{{reset}}}\n{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
	for _, c := range []struct {
		name, before, frame string
		opt                 filter.Options
		little              []symsrc.Frame
	}{
		{"nothing", "", "#0 0x7f20 (/a.so+0x20)" + id + "\n", filter.Options{}, nil},
		{"a name", "", "#0 0x7f20 (/a.so+0x20)" + id + "\n", filter.Options{}, []symsrc.Frame{{Func: "some"}}},
		{"markup", layout, "{{{pc:0x1020}}}\n", filter.Options{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &lateSymbols{little: c.little}
			c.opt.Symbols = s
			f := filter.New(c.opt)
			line := func(text string) string { // its output, whichever call returns it
				var out []byte
				for l := range strings.Lines(text) {
					out = f.Line(t.Context(), out, []byte(l))
				}
				return string(f.Flush(out))
			}
			line(c.before)
			for i, step := range []struct {
				have, news bool
				times      int
				full       bool
			}{
				{false, false, 1, false}, {true, false, 1, false}, {true, true, 2, true}, {true, true, 2, true},
			} {
				s.have, s.news = step.have, step.news
				if out := line(c.frame); s.times != step.times || strings.Contains(out, "/src/p.c:3") != step.full {
					t.Errorf("step %d: asked %d times: %s", i, s.times, out)
				}
			}
		})
	}
}
