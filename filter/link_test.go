package filter_test

import (
	"context"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// hostile answers with names that would be commands to a terminal.
type hostile struct{ symbols }

func (h *hostile) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := h.symbols.Frames(ctx, q)
	if len(a.Frames) > 0 {
		a.Frames = []symsrc.Frame{{Func: "f\x1b[2J", File: "/a\x1b]0;x\a.c", Line: 3}}
	}
	return a
}

// TestLinksInLogs holds where links stand: at paths, never inside a link of the log nor in a JSON string.
func TestLinksInLogs(t *testing.T) {
	const frame, open, end = "#0 0x7f20 (/a.so+0x20)", "\x1b]8;;http://log/\x1b\\", "\x1b]8;;\x1b\\"
	const linked = "#0 0x7f20 in plain \x1b]8;;x:/src/p.c\x1b\\/src/p.c:3:1" + end + " (/a.so+0x20)"
	const bare = "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)"
	for _, c := range []struct{ name, in, want string }{
		{"alone", frame, linked},
		{"behind a link", open + "log" + end + " " + frame, open + "log" + end + " " + linked},
		{"in a link", open + frame + end, open + bare + end},
		{"in a link of an earlier line", open + "x\n" + frame + end + "\n" + frame, open + "x\n" + bare + end + "\n" + linked},
		{"in JSON", `{"m":"` + frame + `"}`, `{"m":"` + bare + `"}`},
		{"in JSON, then not", `{"m":"` + frame + `"}` + "\n" + frame, `{"m":"` + bare + `"}` + "\n" + linked},
		{"the other way round", frame + "\n" + `{"m":"` + frame + `"}`, linked + "\n" + `{"m":"` + bare + `"}`},
	} {
		var l print.Links
		if err := l.Set("x:{path}"); err != nil {
			t.Fatal(err)
		}
		if got := feed(filter.Options{Palette: &sgr.Palette{Off: "\x1b[0m"}, Links: l}, c.in+"\n"); got != c.want+"\n" {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want+"\n")
		}
		if got := feed(filter.Options{Links: l}, frame+"\n"); got != bare+"\n" {
			t.Errorf("without colours: %q", got)
		}
		got := feed(filter.Options{Symbols: &hostile{}, Palette: &sgr.Palette{Off: "\x1b[0m"}, Links: l}, frame+"\n")
		if want := "#0 0x7f20 in f\\x1b[2J \x1b]8;;x:/a%1B%5D0%3Bx%07.c\x1b\\/a\\x1b]0;x\\x07.c:3" + end + " (/a.so+0x20)\n"; got != want {
			t.Errorf("hostile names:\n got %q\nwant %q", got, want)
		}
	}
}

// TestQuiet holds what is dimmed, where the log has no colour of its own: what of a frame with a name is the log's, and the address of
// one without.
func TestQuiet(t *testing.T) {
	p := &sgr.Palette{Func: "<F>", Inlined: "<I>", File: "", Quiet: "<Q>", Note: "<N>", Off: "<0>"}
	for _, c := range []struct{ in, want string }{
		{"x #0 0x7f20 (/a.so+0x20) y", "x #0<Q> 0x7f20<0> in <F>plain<0> /src/p.c:3:1<Q> (/a.so+0x20)<0> y"},
		{"#0 0x7f10 (/a.so+0x10)", "#0<Q> 0x7f10<0> in <I>inner<\"q\">(int)<0> /src/inner.c:8:5<Q> (/a.so+0x10)<0>\n" +
			"#1<Q> 0x7f10<0> in <I>middle<0> /src/wrap.c:6:10<Q> (/a.so+0x10)<0>\n" +
			"#2<Q> 0x7f10<0> in <F>outer<0> /src/top.c:10<Q> (/a.so+0x10)<0>"},
		{"\x1b[31m#0 0x7f20 (/a.so+0x20)\x1b[0m", "\x1b[31m#0 0x7f20 in <F>plain<0>\x1b[31m /src/p.c:3:1 (/a.so+0x20)\x1b[0m"},
		{"#0 0x7f99 (/a.so+0x99)", "#0 <Q>0x7f99<0> (/a.so+0x99)"},
		{"#0 0x7f99 (/\x1b[1ma.so\x1b[m+0x99)", "#0 0x7f99 (/\x1b[1ma.so\x1b[m+0x99)"},
		{"#0 0x7f20 in f /src/log.c:1 (/a.so+0x20)", "#0 0x7f20 in f /src/log.c:1 (/a.so+0x20)"},
		{`{"m":"#0 0x7f20 (/a.so+0x20)"}`, `{"m":"#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)"}`},
	} {
		if got := feed(filter.Options{Palette: p}, c.in+"\n"); got != c.want+"\n" {
			t.Errorf("%q:\n got %q\nwant %q", c.in, got, c.want+"\n")
		}
	}
}
