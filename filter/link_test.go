package filter_test

import (
	"context"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

func TestLinkFormats(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, want string }{
		{"none", ""}, {"", ""},
		{"default", "file://" + host + "/src/a%20b.c"}, {"file", "file://" + host + "/src/a%20b.c"},
		{"vscode", "vscode://file/src/a%20b.c:7:3"}, {"vscodium", "vscodium://file/src/a%20b.c:7:3"}, {"cursor", "cursor://file/src/a%20b.c:7:3"},
		{"idea", "idea://open?file=/src/a%20b.c&line=7&column=3"}, {"kitty", "file://" + host + "/src/a%20b.c#7"}, {"grep+", "grep+:///src/a%20b.c:7"},
		{"textmate", "txmt://open?url=file:///src/a%20b.c&line=7&column=3"}, {"x-y.z:{line}-{path}", "x-y.z:7-/src/a%20b.c"},
	} {
		var l print.Links
		if err := l.Set(c.format); err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		got := strings.TrimSuffix(strings.TrimPrefix(l.Begin("/src/./x/../a b.c", 7, 3), print.LinkStart), print.LinkStop)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.format, got, c.want)
		}
		if _, err := url.Parse(got); err != nil {
			t.Errorf("%s: %v", c.format, err)
		}
	}
	for format, want := range map[string]string{
		"emacs": "no scheme", "file://x": "without {path}", "x:{path}:{column}": "{column} without {line}", "x:{path}{what}": "no variable {what",
		"x:{path": "no variable {path", "x:{path}}": "no such characters", "x:\x1b{path}": "no such characters", "x y:{path}": "no such characters",
		"1x:{path}": "no scheme", "{path}:x": "no scheme",
	} {
		var l print.Links
		if err := l.Set(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
}

func TestLinkPaths(t *testing.T) {
	var l print.Links
	if err := l.Set("x:{path}:{line}:{column}"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": "", "a.c": "", "./a.c": "", `C:\src\a.c`: "x:/C:/src/a.c:1:1", "/a\x1b]8;;\a\n\"<>%?#": "x:/a%1B%5D8%3B%3B%07%0A%22%3C%3E%25%3F%23:1:1",
		"/ä\xff": "x:/%C3%A4%FF:1:1", "/" + strings.Repeat("a", 3000): "",
	} {
		if want != "" {
			want = print.LinkStart + want + print.LinkStop
		}
		if got := l.Begin(file, 0, 0); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// FuzzLinks: whatever the path, the link is one sequence of a terminal, and its URL means that path.
func FuzzLinks(f *testing.F) {
	f.Add("/a b\x1b\\\a%41?#é")
	var l print.Links
	if err := l.Set("file://{path}"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file string) {
		link := l.Begin(file, 1, 1)
		if text, _ := sgr.Strip(nil, nil, []byte(link)); len(text) > 0 {
			t.Errorf("%q: %q", file, link)
		}
		if link == "" || print.HasDrive(file) {
			return
		}
		u, err := url.Parse(strings.TrimSuffix(strings.TrimPrefix(link, print.LinkStart), print.LinkStop))
		if err != nil || u.Path != path.Clean(file) {
			t.Errorf("%q: %q is %v, %v", file, link, u, err)
		}
	})
}

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

// TestQuiet holds what is dimmed: what of a frame is the log's, where the log has no colour of its own.
func TestQuiet(t *testing.T) {
	p := &sgr.Palette{Func: "<F>", Inlined: "<I>", File: "", Quiet: "<Q>", Note: "<N>", Off: "<0>"}
	for _, c := range []struct{ in, want string }{
		{"x #0 0x7f20 (/a.so+0x20) y", "x #0<Q> 0x7f20<0> in <F>plain<0> /src/p.c:3:1<Q> (/a.so+0x20)<0> y"},
		{"#0 0x7f10 (/a.so+0x10)", "#0<Q> 0x7f10<0> in <I>inner<\"q\">(int)<0> /src/inner.c:8:5<Q> (inlined)<0><Q> (/a.so+0x10)<0>\n" +
			"#1<Q> 0x7f10<0> in <I>middle<0> /src/wrap.c:6:10<Q> (inlined)<0><Q> (/a.so+0x10)<0>\n" +
			"#2<Q> 0x7f10<0> in <F>outer<0> /src/top.c:10<Q> (/a.so+0x10)<0>"},
		{"\x1b[31m#0 0x7f20 (/a.so+0x20)\x1b[0m", "\x1b[31m#0 0x7f20 in <F>plain<0>\x1b[31m /src/p.c:3:1 (/a.so+0x20)\x1b[0m"},
		{"#0 0x7f99 (/a.so+0x99)", "#0<Q> 0x7f99 (/a.so+0x99)<0>"},
		{"#0 0x7f99 (/\x1b[1ma.so\x1b[m+0x99)", "#0 0x7f99 (/\x1b[1ma.so\x1b[m+0x99)"},
		{"#0 0x7f20 in f /src/log.c:1 (/a.so+0x20)", "#0 0x7f20 in f /src/log.c:1 (/a.so+0x20)"},
		{`{"m":"#0 0x7f20 (/a.so+0x20)"}`, `{"m":"#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)"}`},
	} {
		if got := feed(filter.Options{Palette: p}, c.in+"\n"); got != c.want+"\n" {
			t.Errorf("%q:\n got %q\nwant %q", c.in, got, c.want+"\n")
		}
	}
}
