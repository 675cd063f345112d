package filter_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// texts is a source of excerpts, by path.
type texts struct {
	mu    sync.Mutex
	files map[string]symsrc.Excerpt
	asked []symsrc.Place
}

func (s *texts) Excerpt(_ context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, p)
	x, ok := s.files[p.Path]
	if !ok {
		return symsrc.Excerpt{Note: "no source file", Absent: true}
	}
	return x
}

func TestSourceLines(t *testing.T) {
	plain := symsrc.Excerpt{First: 2, Lines: []string{"{", "\treturn 0;", ""}}
	const frame, answer = "#0 0x7f20 (/a.so+0x20)", "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)"
	const two, three, four = "         2 | {", "    >    3 |     return 0;", "         4 |"
	for _, c := range []struct {
		name     string
		opt      filter.Options
		x        symsrc.Excerpt
		in, want string
	}{
		{name: "below the frame", in: "x\n" + frame + "\ny", want: "x\n" + answer + "\n" + two + "\n" + three + "\n" + four + "\ny"},
		{name: "indented, behind a prefix", in: "I/a( 7):   " + frame, want: "I/a( 7):   " + answer + "\nI/a( 7):   " + two + "\nI/a( 7):   " + three + "\nI/a( 7):   " + four},
		{name: "colours of the log", in: "\x1b[31m  " + frame + "\x1b[0m", want: "\x1b[31m  " + answer + "\x1b[0m\n\x1b[31m  " + two + "\x1b[0m\n\x1b[31m  " + three +
			"\x1b[0m\n\x1b[31m  " + four + "\x1b[0m"},
		{name: "a link of the log", in: "\x1b]8;;http://m\x1b\\  " + frame + "\x1b]8;;\x1b\\!", want: "\x1b]8;;http://m\x1b\\  " + answer + "\x1b]8;;\x1b\\!\n\x1b]8;;http://m\x1b\\  " + two +
			"\x1b]8;;\x1b\\\n\x1b]8;;http://m\x1b\\  " + three + "\x1b]8;;\x1b\\\n\x1b]8;;http://m\x1b\\  " + four + "\x1b]8;;\x1b\\"},
		{name: "Windows' ends of lines", in: frame + "\r", want: answer + "\r\n" + two + "\r\n" + three + "\r\n" + four + "\r"},
		{name: "in JSON", in: `{"m":"` + frame + `"}`, want: `{"m":"` + answer + `\n` + two + `\n` + three + `\n` + four + `"}`},
		{name: "hostile", x: symsrc.Excerpt{First: 3, Lines: []string{"a\x1b[2J\x00\u202e\xff\x9b\"\\" + strings.Repeat("x", 300)}}, in: frame,
			want: answer + "\n    >    3 | a\\x1b[2J\\x00\\u202e\xff\\x9b\"\\" + strings.Repeat("x", 175) + "…"},
		{name: "only a note", x: symsrc.Excerpt{Note: "p.c\x1b is another"}, in: frame, want: answer + "\n           (p.c\\x1b is another)"},
		{name: "nothing", x: symsrc.Excerpt{Note: "no file", Absent: true}, in: frame, want: answer},
		{name: "nothing, explained", opt: filter.Options{Explain: true}, x: symsrc.Excerpt{Note: "no file", Absent: true}, in: "#0 0x7f20 (/a.so+0x20)" + id,
			want: "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)" + id + "\n           (no file)"},
		{name: "not in a sentence", in: "SUMMARY: x (/a.so+0x20) and (/a.so+0x20)", want: "SUMMARY: x plain /src/p.c:3:1 (/a.so+0x20) and (/a.so+0x20)"},
		{name: "not where the log names its source", in: answer, want: answer},
		{name: "not where nothing is known", in: "#0 0x7f99 (/a.so+0x99)", want: "#0 0x7f99 (/a.so+0x99)"},
		{name: "what looks like markup", x: symsrc.Excerpt{First: 3, Lines: []string{"int a[1][1][1] = {{{1}}};", `puts("{{{reset}}}");`}},
			in: "x\n{{{module:0:/a.so:elf:01}}}{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n{{{bt:0:0x1020:pc}}}",
			want: "x\n" + `[[[ELF module #0x0 "/a.so"; BuildID=01 [0x1000-0x1fff](rx)]]]` + "\n    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)" +
				"\n    >    3 | int a[1][1][1] = {{{1}}};\n         4 | puts(\"{{\\x7breset}}}\");"},
		{name: "in colour", opt: filter.Options{Palette: &sgr.Palette{Func: "<F>", Quiet: "<Q>", Mark: "<M>", Note: "<N>", Off: "<0>"}},
			x: symsrc.Excerpt{First: 3, Lines: []string{"f();", "g();"}, Note: "n"}, in: frame,
			want: "#0<Q> 0x7f20<0> in <F>plain<0> /src/p.c:3:1<Q> (/a.so+0x20)<0>\n    <M>>    3 |<0> f();\n    <Q>     4 | g();<0>\n           <N>(n)<0>"},
	} {
		if c.x.Lines == nil && c.x.Note == "" {
			c.x = plain
		}
		c.opt.Sources, c.opt.SourceLines = &texts{files: map[string]symsrc.Excerpt{"/src/p.c": c.x}}, 3
		got := feed(c.opt, c.in+"\n")
		if got != c.want+"\n" {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want+"\n")
		}
		if strings.HasPrefix(c.in, "{") && !json.Valid([]byte(got)) {
			t.Errorf("%s: no JSON: %s", c.name, got)
		}
		c.opt.SourceLines = 0
		if got := feed(c.opt, c.in+"\n"); strings.Contains(got, "    > ") || strings.Contains(got, " | ") {
			t.Errorf("%s: source code that was not asked for: %q", c.name, got)
		}
	}
}

// TestSourceOnce holds that a frame's source is asked for once, with what tells which it is, until there may be more.
func TestSourceOnce(t *testing.T) {
	news := false
	s := &texts{files: map[string]symsrc.Excerpt{
		"/src/p.c": {First: 3, Lines: []string{"p"}}, "/src/inner.c": {Note: "coming", Absent: true, Retry: func() bool { return news }},
	}}
	f := filter.New(filter.Options{Symbols: &symbols{}, Sources: s, SourceLines: 5, Names: print.Names{Map: []print.PathMap{{From: "/src", To: "/here"}}}})
	line := func(text string) string { return string(f.Line(t.Context(), nil, []byte(text+"\n"))) }
	for range 3 {
		line("#0 0x7f20 (/a.so+0x20)" + id)
	}
	if len(s.asked) != 1 || s.asked[0].Local != "/here/p.c" || s.asked[0].Path != "/src/p.c" || s.asked[0].Line != 3 || s.asked[0].Module.Name != "/a.so" || s.asked[0].Files == nil ||
		s.asked[0].Made.Unix() != 7 {
		t.Errorf("asked for %+v", s.asked)
	}
	for range 3 {
		line("#0 0x7f10 (/a.so+0x10)" + id)
	}
	if len(s.asked) != 4 {
		t.Errorf("asked %d times", len(s.asked))
	}
	news, s.files["/src/inner.c"] = true, symsrc.Excerpt{First: 8, Lines: []string{"here it is"}}
	if got := line("#0 0x7f10 (/a.so+0x10)" + id); !strings.Contains(got, "here it is") || len(s.asked) != 5 {
		t.Errorf("after it came: %q", got)
	}
}
