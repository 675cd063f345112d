package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/sgr"
)

// TestDumpPrefix holds that the footnotes of a dump have the logger's prefix, and nothing else of its line.
func TestDumpPrefix(t *testing.T) {
	const prefix = "Nov 21 10:00:00 host a[1]: "
	const dump = prefix + "regs: {{{hexdict:RIP:0x1020}}}\n"
	in := prefix + "{{{module:0:/a.so:elf:0123abcd}}}\n" + prefix + "{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n" + dump
	want := dump + "Nov 21 10:00:00 host a[1]:  [RIP] plain /src/p.c:3:1\n"
	if got := feed(filter.Options{}, in); !strings.HasSuffix(got, want) {
		t.Errorf("\n got %q\nwant %q at its end", got, want)
	}
}

// TestDumpColour holds that values with a footnote are in colour, wherever in the dump they are.
func TestDumpColour(t *testing.T) {
	p := &sgr.Palette{Func: "<F>", File: "<P>", Off: "<0>"}
	in := contextLines + "\x1b[1mx {{{hexdict:RIP:0x1020 A:0x1}}} {{{hexdict:RIP:0x1020\nRA: 0x1021 B: 0x2\nRIP:0x1020 }}}\x1b[m\n"
	got := feed(filter.Options{Palette: p, Context: print.ContextDrop}, in)
	const value = "<F>0x1020<0>\x1b[1m"
	want := "\x1b[1mx {{{hexdict:RIP:" + value + " A:0x1}}} {{{hexdict:RIP:" + value + "\nRA: <F>0x1021<0>\x1b[1m B: 0x2\nRIP:" + value + " }}}\x1b[m\n"
	if !strings.HasPrefix(got, want) || strings.Count(got[len(want):], "\n") != 4 {
		t.Errorf("\n got %q\nwant %q and four footnotes", got, want)
	}
}
