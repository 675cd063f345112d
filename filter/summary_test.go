package filter_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

const notFound = resolve.Outcome(symsrc.NotFound)

func TestSummary(t *testing.T) {
	f := filter.New(filter.Options{Symbols: &symbols{}})
	for _, line := range []string{"#0 0x1 (/lib/missing.so+0x1)" + id + "\n", "#1 0x1 (/lib/missing.so+0x2)" + id + "\n", "#2 0x1 (/a.so+0x21)\n", "#3 0x1 (/a.so+0x99)\n"} {
		f.Line(context.Background(), nil, []byte(line))
	}
	f.Line(context.Background(), nil, []byte("#4 0x1 in f /a.c:3 (/a.so+0x3)\n"))
	want := resolve.Summary{Modules: []resolve.Unresolved{
		{Frames: 2, Outcome: notFound, Module: "/lib/missing.so (BuildId: 0123abcd)", Title: "missing.so (BuildId 0123abcd)", Reason: "NOT_FOUND: elf not found", Unstripped: true},
		{Frames: 1, Outcome: resolve.NoSymbol, Module: "/a.so", Title: "a.so", Reason: "NO_SYMBOL: the files are good, but no symbol covers the addresses"}}}
	for _, o := range []resolve.Outcome{notFound, notFound, resolve.NoSymbol, resolve.OK, resolve.InLog} {
		want.Count(o)
	}
	if got := summary(f); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// summary returns the summary of a filter, in which modules and their files are known by their names.
func summary(f *filter.Filter) resolve.Summary {
	s := f.Summary()
	for i := range s.Modules {
		s.Modules[i].Of, s.Modules[i].Files = symsrc.Module{}, nil
	}
	return s
}

// TestSummaryForgets counts the frames of more modules than are remembered, and goes on to count those of a line that is remembered
// longer than its module.
func TestSummaryForgets(t *testing.T) {
	f := filter.New(filter.Options{Symbols: &symbols{}})
	const known = "#0 0x1 (/lib/missing.so+0x1)\n"
	line := func(text string) { f.Line(context.Background(), nil, []byte(text)) }
	line(known)
	line(known)
	modules := 0
	for ; modules%(1<<12) > 0 || f.Summary().Forgotten == 0; modules++ {
		if modules > 1<<20 {
			t.Fatal("nothing is forgotten")
		}
		line(fmt.Sprintf("#0 0x1 (/lib/lib%d.so+0x1)\n", modules))
	}
	line(known)
	line(known)
	stats, tally := f.Stats(), f.Tally()
	if want := int64(modules + 4); int64(stats.Frames) != want || int64(stats.Unresolved) != want || int64(tally.Frames) != want || int64(tally.By[resolve.NoSymbol]+tally.By[notFound]) != want {
		t.Errorf("%+v, %+v, want %d frames", stats, tally, want)
	}
	if s := f.Summary(); s.Frames != modules+4 || s.Unnamed() != modules+4 || s.Forgotten == 0 {
		t.Errorf("%d frames, %d unresolved, %d forgotten, want %d", s.Frames, s.Unnamed(), s.Forgotten, modules+4)
	}
}

// TestSummaryOfSources says once where no source file is there of any function; with one, and where none is asked for, nothing.
func TestSummaryOfSources(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]symsrc.Excerpt
		lines int
		want  string
	}{
		{name: "none", lines: 3, want: "/src/p.c"},
		{name: "one", lines: 3, files: map[string]symsrc.Excerpt{"/src/wrap.c": {First: 6, Lines: []string{"x"}}}},
		{name: "another content", lines: 3, files: map[string]symsrc.Excerpt{"/src/wrap.c": {Note: "wrap.c is not what was compiled (MD5)"}}},
		{name: "not asked for"},
	} {
		f := filter.New(filter.Options{Symbols: &symbols{}, Sources: &texts{files: c.files}, SourceLines: c.lines})
		for _, line := range []string{"#0 0x7f20 (/a.so+0x20)\n", "#0 0x7f10 (/a.so+0x10)\n", "#0 0x7f30 (/a.so+0x30)\n"} {
			f.Line(context.Background(), nil, []byte(line))
		}
		if got := f.Summary().NoSource; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
