package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
)

// faulty is a source that panics over some modules, and for one returns what panics the 15th time that it is called.
type faulty struct{ retried atomic.Int64 }

func (s *faulty) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	files := &symsrc.Files{Elf: "/a.so"}
	switch {
	case strings.Contains(q.Module.Name, "broken") || strings.HasPrefix(string(q.Module.BuildID), "\xbb"):
		panic("no such luck")
	case strings.Contains(q.Module.Name, "later"):
		files.Retry = func() bool {
			if s.retried.Add(1) == 15 {
				panic("nor later")
			}
			return false
		}
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "good", Linkage: "good", File: "/g.c", Line: int(q.Offset)}}, Files: files}
}

const guardContext = "{{{reset}}}\n{{{module:0:/a.so:elf:aa}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"

// TestGuard holds that a panic costs one line its names and nothing else: what was held back before it leaves, the line leaves
// as it came, all other lines are what they always are, and it is said once.
func TestGuard(t *testing.T) {
	const folded = "[[[ELF module #0x0 \"/a.so\"; BuildID=aa [0x1000-0x1fff](rx)]]]\n"
	const stack = "#0 0x1 (/a.so+0x10) (BuildId: aa)\n#1 0x2 (/a.so+0x20) (BuildId: aa)\n"
	observe := func(o *filter.Options) {
		o.Observe = func(x *print.Observation) {
			if strings.Contains(string(x.Whole), "+0x66") || strings.Contains(string(x.Whole), "0x1066") {
				var nothing []byte
				_ = nothing[len(x.Whole)]
			}
		}
	}
	for _, c := range []struct {
		name, log, want string
		set             func(*filter.Options)
	}{
		{"a frame behind folded context", guardContext + "{{{bt:0:0x1066:pc}}}\nplain\n{{{bt:0:0x1010:pc}}}\n{{{bt:0:0x1066:pc}}}\n",
			folded + "{{{bt:0:0x1066:pc}}}\nplain\n    #0    0x0000000000001010 good /g.c:16 (/a.so+0x10)\n{{{bt:0:0x1066:pc}}}\n", observe},
		{"no end of line", "x\n#0 0x1 (/a.so+0x66)", "x\n#0 0x1 (/a.so+0x66)", observe},
		{"inside JSON", `{"log":"#0 0x1 (/a.so+0x10)\n#1 0x2 (/a.so+0x66)\n"}` + "\n#0 0x1 (/a.so+0x10)\n",
			`{"log":"#0 0x1 (/a.so+0x10)\n#1 0x2 (/a.so+0x66)\n"}` + "\n#0 0x1 in good /g.c:16 (/a.so+0x10)\n", observe},
		{"a stack that is held back", stack + "\n" + stack + "#2 0x3 (/a.so+0x66) (BuildId: aa)\nx\n",
			"#0 0x1 in good /g.c:16 (/a.so+0x10) (BuildId: aa)\n#1 0x2 in good /g.c:31 (/a.so+0x20) (BuildId: aa)\n\n[same as stack 1, line 1: good--good]\n#2 0x3 (/a.so+0x66) (BuildId: aa)\nx\n",
			func(o *filter.Options) { observe(o); o.Dedupe = true }},
		{"lines that wait", "    @ 0x1011 f\n#1 0x2 (/a.so+0x66)\ny\n1000-2000 r-xp 00000000 08:01 7 /a.so\nz\n",
			"    @ 0x1011 in good /g.c:16\n#1 0x2 (/a.so+0x66)\ny\n1000-2000 r-xp 00000000 08:01 7 /a.so\nz\n",
			func(o *filter.Options) {
				observe(o)
				o.Lookahead = filter.Lookahead{Lines: 9, Time: time.Hour}
			}},
		{"objects", "a\n#0 0x1 (/a.so+0x66)\nb\n", `{"line":1,"text":"a"}` + "\n" + `{"line":2,"text":"#0 0x1 (/a.so+0x66)"}` + "\n" + `{"line":3,"text":"b"}` + "\n",
			func(o *filter.Options) { observe(o); o.JSON = &jsonl.Options{} }},
		{"the source of symbols", "#0 0x1 (/broken.so+0x10)\n#1 0x2 (/a.so+0x10)\n", "#0 0x1 (/broken.so+0x10)\n#1 0x2 in good /g.c:15 (/a.so+0x10)\n",
			func(*filter.Options) {}},
		{"the source of symbols on other cores", guardContext + "{{{module:1:broken:elf:bb}}}{{{mmap:0x3000:0x1000:load:1:rx:0x0}}}\n" + many("{{{bt:0:%#x:pc}}}\n", 0x3000, 200),
			folded + "[[[ELF module #0x1 \"broken\"; BuildID=bb [0x3000-0x3fff](rx)]]]\n" + many("    #0    0x%016x (broken+0x%[2]x) (BuildId: bb)\n", 0x3000, 200), func(*filter.Options) {}},
		{"known lines", strings.Repeat("#0 0x1 (/later.so+0x10) (BuildId: aa)\n", 40),
			strings.Repeat("#0 0x1 in good /g.c:16 (/later.so+0x10) (BuildId: aa)\n", 14) + "#0 0x1 (/later.so+0x10) (BuildId: aa)\n" +
				strings.Repeat("#0 0x1 in good /g.c:16 (/later.so+0x10) (BuildId: aa)\n", 25), func(*filter.Options) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			o := filter.Options{Symbols: &faulty{}, Warn: func(m string) { said = append(said, m) }}
			c.set(&o)
			var out bytes.Buffer
			if err := filter.New(o).Run(t.Context(), strings.NewReader(c.log), &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != c.want {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
			if len(said) != 1 || !strings.Contains(said[0], "internal error") || !strings.Contains(said[0], "guard_test.go:") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// many writes lines for addresses that follow each other.
func many(format string, from, n int) string {
	var b strings.Builder
	for i := range n {
		text := fmt.Sprintf(format, from+i, i)
		text, _, _ = strings.Cut(text, "%!(EXTRA")
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		b.WriteString(text)
	}
	return b.String()
}
