package filter

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

func TestSummary(t *testing.T) {
	f := New(Options{Symbols: &symbols{}})
	for _, line := range []string{"#0 0x1 (/lib/missing.so+0x1)" + id + "\n", "#1 0x1 (/lib/missing.so+0x2)" + id + "\n", "#2 0x1 (/a.so+0x21)\n", "#3 0x1 (/a.so+0x99)\n"} {
		f.Line(context.Background(), nil, []byte(line))
	}
	var out strings.Builder
	if err := f.Summary(&out); err != nil {
		t.Fatal(err)
	}
	want := "qss-filter: 3 of 4 frames have no name:\n" +
		"qss-filter:      2  /lib/missing.so (BuildId: 0123abcd): NOT_FOUND: elf not found; pass --symbols DIR where its unstripped file is\n" +
		"qss-filter:      1  /a.so: the files are good, but no symbol covers the addresses\n"
	if out.String() != want {
		t.Errorf("\n got %q\nwant %q", out.String(), want)
	}
}

// TestSummaryForgets counts the frames of more modules than are remembered, and goes on to count those of a line that is remembered
// longer than its module.
func TestSummaryForgets(t *testing.T) {
	f := New(Options{Symbols: &symbols{}})
	const known = "#0 0x1 (/lib/missing.so+0x1)\n"
	line := func(text string) { f.Line(context.Background(), nil, []byte(text)) }
	line(known)
	line(known)
	for i := range memoLimit {
		line(fmt.Sprintf("#0 0x1 (/lib/lib%d.so+0x1)\n", i))
	}
	line(known)
	line(known)
	stats, tally := f.Stats(), f.Tally()
	if want := int64(memoLimit + 4); int64(stats.Frames) != want || int64(stats.Unresolved) != want || int64(tally.Frames) != want || int64(tally.By[symsrc.OK]+tally.By[symsrc.NotFound]) != want {
		t.Errorf("%+v, %+v, want %d frames", stats, tally, want)
	}
	var out strings.Builder
	if err := f.Summary(&out); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	if want := fmt.Sprintf("qss-filter: %d of %[1]d frames have no name:", memoLimit+4); first != want || !strings.HasSuffix(out.String(), "too many to list\n") {
		t.Errorf("%s … %s", first, out.String()[max(0, out.Len()-200):])
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
		{name: "none", lines: 3, want: "qss-filter: none of the source files is there, the first is /src/p.c; pass --source-root DIR or --path-map FROM=TO\n"},
		{name: "one", lines: 3, files: map[string]symsrc.Excerpt{"/src/wrap.c": {First: 6, Lines: []string{"x"}}}},
		{name: "another content", lines: 3, files: map[string]symsrc.Excerpt{"/src/wrap.c": {Note: "wrap.c is not what was compiled (MD5)"}}},
		{name: "not asked for"},
	} {
		f := New(Options{Symbols: &symbols{}, Sources: &texts{files: c.files}, SourceLines: c.lines})
		for _, line := range []string{"#0 0x7f20 (/a.so+0x20)\n", "#0 0x7f10 (/a.so+0x10)\n", "#0 0x7f30 (/a.so+0x30)\n"} {
			f.Line(context.Background(), nil, []byte(line))
		}
		var out strings.Builder
		if err := f.Summary(&out); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v", c.name, out.String(), err)
		}
	}
}
