package command

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/sgr"
)

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		s    filter.Summary
		want string
	}{
		{filter.Summary{Frames: 4}, ""},
		{filter.Summary{Frames: 4, Unresolved: 3, Modules: []filter.Unresolved{
			{Frames: 2, Module: "/lib/missing.so (BuildId: 0123abcd)", Reason: "NOT_FOUND: elf not found", Unstripped: true},
			{Frames: 1, Module: "/a.so", Reason: "the files are good, but no symbol covers the addresses"}}},
			"qss-filter: 3 of 4 frames have no name:\n" +
				"qss-filter:      2  /lib/missing.so (BuildId: 0123abcd): NOT_FOUND: elf not found; pass --symbols DIR where its unstripped file is\n" +
				"qss-filter:      1  /a.so: the files are good, but no symbol covers the addresses\n"},
		{filter.Summary{Frames: 9, Unresolved: 7, Forgotten: 7}, "qss-filter: 7 of 9 frames have no name:\n" +
			"qss-filter:      7  of modules that came before: there were too many to list\n"},
		{filter.Summary{NoSource: "/src/p.c"}, "qss-filter: none of the source files is there, the first is /src/p.c; pass --source-root DIR or --path-map FROM=TO\n"},
	} {
		var out strings.Builder
		if err := writeSummary(&out, c.s, nil); err != nil || out.String() != c.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", c.s, out.String(), err, c.want)
		}
		out.Reset()
		if err := writeSummary(&out, c.s, sgr.NewTheme(true)); err != nil || string(sgr.Discolour(nil, []byte(out.String()))) != c.want ||
			strings.Contains(out.String(), "\x1b") != (c.want != "") {
			t.Errorf("%+v: in color %q, %v", c.s, out.String(), err)
		}
	}
}
