package filter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// objectTails are what may stand behind a frame's address that a string of JSON has in another form.
var objectTails = []string{
	"  (/lib/a.so+0x20) (BuildId: 0123abcd) \"quoted\\\"", "  (/lib/\"a\\.so+0x20) (BuildId: 0123abcd)", "  (/lib/é.so+0x20) (BuildId: 0123abcd)",
	"  (/lib/a.so+0x10) (BuildId: 0123abcd) \xff", "  (/lib/\xe2\x82.so+0x20) (BuildId: 0123abcd)", " in f<\"x\">(int) (/lib/a.so+0x20) (BuildId: 0123abcd)",
	"  (/lib/a.so+0x20) (BuildId: 0123abcd)\x7f\x01", " in #0 0x7f0000000000 (/lib/a.so+0x20) (BuildId: 0123abcd)", "  (/lib/a.so+0x20) (BuildId: 0123abcd) ,\"text\":\"",
	"  (/lib/a.so+0x20) (BuildId: 0123abcd) pid: 9, tid: 9", "  (/lib/a.so+0x10) (BuildId: 0123abcd)",
}

// objectLog writes pieces of a log of all that an object may tell: stacks of text and of markup, of processes that come and
// go, beside text of all kinds.
func objectLog(r *filtertest.Nasty) (pieces []string) {
	tails := slices.Concat(textTails, objectTails)
	for range 10 {
		switch r.IntN(8) {
		case 0:
			if r.One(4) {
				pieces = append(pieces, stackLog(r.Rand, 60, tails))
			}
		case 1, 2:
			pieces = append(pieces, textStacks(r, tails))
		case 3, 4:
			pieces = append(pieces, markupStacks(r))
		case 5:
			pieces = append(pieces, r.Again(r.Log(30))+"\n")
		case 6:
			pieces = append(pieces, filtertest.Processes(1+r.IntN(3), r.One(2), r.Pick("\n", "\r\n")))
		default:
			pieces = append(pieces, strings.Repeat(r.Pick("plain\n", "crlf\r\n", "\"q\\\n", "é日\n", "\xff\xc3\n", "\x1b[31mred\x1b[0m\n", "\n", "tab\tand\x00\n"), 1+r.IntN(40)))
			if r.One(40) {
				pieces = append(pieces, strings.Repeat(r.Pick("x", "é", "\xff", "#0 0x7f20 (/lib/a.so+0x20) "), 1<<20)+"\n")
			}
		}
		if r.One(3) && len(pieces) > 0 {
			pieces = append(pieces, pieces[r.IntN(len(pieces))])
		}
	}
	return pieces
}

// textStacks writes frames of few tails, at addresses that move, and what changes how they are read.
func textStacks(r *filtertest.Nasty, tails []string) string {
	var b strings.Builder
	favourites := []string{r.Pick(tails...), r.Pick(tails...), r.Pick(objectTails...), r.Pick(objectTails...)}
	indent, end := r.Pick("    ", "    ", "", " "), r.Pick("\n", "\n", "\n", "\n", "\n", "\r\n")
	for n := range 20 + r.IntN(60) {
		tail := r.Pick(favourites...)
		address := fmt.Sprintf(r.Pick("%#x", "%#x", "%#x", "0x%016x", "0x%X"), 0x7f0000000000+uint64(r.IntN(1<<20)))
		fmt.Fprintf(&b, "%s#%d %s%s%s", indent, n%(1+r.IntN(13)), address, tail, end)
		if r.One(20) {
			b.WriteString(r.Pick("==7==ERROR: AddressSanitizer: x\n", "SUMMARY: AddressSanitizer: x\n", "I/x(9): text\n", "I/x(9): #0 0x7f20"+tail+"\n", "text\n",
				"pid: 9, tid: 9, name: x  >>> x <<<\n", "WARNING: ThreadSanitizer: data race (pid=7)\n"))
		}
	}
	return b.String()
}

// markupStacks writes frames of few addresses in one address space, again and again, and what changes how they are read.
func markupStacks(r *filtertest.Nasty) string {
	var b strings.Builder
	if r.One(2) {
		fmt.Fprintf(&b, "{{{reset}}}\n{{{module:0:%s:elf:%s}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", r.Pick("a.so", "b\"c.so", "\xff.so"), r.Pick("0123abcd", "0123abcd", ""))
	}
	end := r.Pick("\n", "\n", "\r\n")
	for range 20 + r.IntN(60) {
		fmt.Fprintf(&b, "{{{bt:%d:%#x%s}}}%s", r.IntN(2), 0x1000+16*(1+r.IntN(3))+r.IntN(2), r.Pick(":pc", ":pc", ":ra", ""), end)
		if r.One(20) {
			b.WriteString(r.Pick("==7==ERROR: AddressSanitizer: x\n", "SUMMARY: AddressSanitizer: x\n", "I/x(9): text\n", "I/x(9): {{{bt:0:0x1011}}}\n", "text\n",
				"pid: 9, tid: 9, name: x  >>> x <<<\n", "==9==ERROR: AddressSanitizer: y\n", "\x1b[1m{{{bt:0:0x1010:pc}}}\x1b[0m\n", "{{{mmap:0x3000:0x10:load:0:rx:0x0}}}\n"))
		}
	}
	return b.String()
}

// changingSymbols answers otherwise in each phase where a module's name ends in a.so, and says that it may be asked again.
type changingSymbols struct{ phase atomic.Uint64 }

func (s *changingSymbols) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := (&symbols{}).Frames(ctx, q)
	if !strings.HasSuffix(q.Module.Name, "a.so") {
		return a
	}
	phase := s.phase.Load()
	a.Files.Unverified = a.Files.Unverified || phase%3 == 1
	a.Files.Retry = func() bool { return s.phase.Load() != phase }
	if q.Offset == 0x20 {
		a.Frames = []symsrc.Frame{{Func: fmt.Sprintf("phase%d", phase)}}
	}
	return a
}

// TestKnownObjects holds that objects of which most is known are byte for byte what they are when their lines are looked at
// in full, with the same messages and counts, and lines that leave as text likewise, while answers change.
func TestKnownObjects(t *testing.T) {
	text, markup := 0, 0
	for seed := range uint64(200) {
		r := &filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 11)), Targets: []filtertest.Target{{ID: "0123abcd", At: []uint64{0x10, 0x20, 0x30, 0x40}}}}
		pieces := objectLog(r)
		o := filter.Options{Adjust: resolve.Adjust(r.IntN(2) * r.IntN(3)), Renumber: print.Renumber(r.IntN(2) * r.IntN(3)), StripSGR: r.One(4), Dedupe: r.One(9), Explain: r.One(3), By: prefix.By(r.IntN(2) * r.IntN(3))}
		if r.One(9) {
			o.Names.Map = []print.PathMap{{From: "/src", To: "/home"}}
		}
		if !r.One(5) {
			o.JSON = &jsonl.Options{FramesOnly: r.One(2)}
		}
		filtered := func(quick bool) string {
			s := &changingSymbols{}
			o.Symbols = s
			return tell(t, o, func(f *filter.Filter, out *strings.Builder) {
				f.FullLook(!quick)
				d := f.Feed()
				for i, piece := range pieces {
					out.Write(d.Add(context.Background(), nil, []byte(piece)))
					f.Recover() // what was asked in this phase
					s.phase.Add(uint64(i % 2))
				}
				out.Write(d.Flush(nil))
				if quick && o.JSON != nil {
					tails, whole := f.KnownLines()
					text, markup = text+tails, markup+whole
				}
			})
		}
		if got, want := filtered(true), filtered(false); got != want {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: got %q\nwant %q", seed, filtertest.Cut(got[max(0, i-200):]), filtertest.Cut(want[max(0, i-200):]))
		}
	}
	if text < 300 || markup < 300 {
		t.Errorf("only %d objects of text and %d of markup were known", text, markup)
	}
}

// growingSymbols knows a name, and reports whether there are news.
type growingSymbols struct {
	name             string
	unverified, news bool
}

func (s *growingSymbols) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: s.name}}, Files: &symsrc.Files{Elf: "/lib/a.so", Unverified: s.unverified, Retry: func() bool { return s.news }}}
}

// TestKnownUntilNews holds that a frame which is known says what is known by now of its name and of its module's files.
func TestKnownUntilNews(t *testing.T) {
	for _, c := range []struct{ name, context, frame, other string }{
		{"markup", "{{{module:0:a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", "{{{bt:0:0x1020:pc}}}\n", "{{{bt:0:0x1010:pc}}}\n"},
		{"text", "", "    #0 0x7f20  (/lib/a.so+0x20) (BuildId: 0123abcd)\n", "    #0 0x7f10  (/lib/a.so+0x10) (BuildId: 0123abcd)\n"},
	} {
		for _, o := range []filter.Options{{Explain: true}, {JSON: &jsonl.Options{FramesOnly: true}}} {
			s := &growingSymbols{name: "little"}
			o.Symbols = s
			d := filter.New(o).Feed()
			add := func(text string) string { return string(d.Add(context.Background(), nil, []byte(text))) }
			add(c.context + strings.Repeat(c.frame, 20))
			for _, step := range []struct {
				to         growingSymbols
				before     string
				name       string
				unverified bool
			}{
				{growingSymbols{name: "more"}, "", "little", false},
				{growingSymbols{name: "more", unverified: true}, c.other, "little", true},
				{growingSymbols{name: "more", unverified: true, news: true}, "", "more", true},
			} {
				*s = step.to
				add(step.before)
				if got := add(c.frame); !strings.Contains(got, step.name) || strings.Contains(got, "unverified") != step.unverified {
					t.Errorf("%s, JSON %v: with %+v the frame becomes %s", c.name, o.JSON != nil, step.to, got)
				}
			}
		}
	}
}

// TestKnownObjectsCost holds that objects of frames which are known are so, and cost no memory.
func TestKnownObjectsCost(t *testing.T) {
	const context0 = "{{{module:0:a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
	for _, stack := range []string{
		"    #0 0x7f20  (/lib/a.so+0x20) (BuildId: 0123abcd)\n    #1 0x7f10  (/lib/\"a.so+0x10) (BuildId: 0123abcd)\n",
		"{{{bt:0:0x1020:pc}}}\n{{{bt:1:0x1011:ra}}}\n",
	} {
		o := filter.Options{Symbols: &symbols{}, JSON: &jsonl.Options{}}
		f := filter.New(o)
		dst := f.Feed().Add(context.Background(), nil, []byte(context0+strings.Repeat(stack, 20)))
		if want := feed(o, context0+strings.Repeat(stack, 20)); string(dst) != want {
			t.Errorf("got\n%s, want\n%s", dst, want)
		}
		dst = dst[:0]
		again := []byte(stack)
		// Each filter has its own hash function. Two lines with the same place in the table replace each other, which is rare.
		for range 3 {
			if _, n := f.Known(dst, again); n == len(again) {
				break
			}
			f = filter.New(o)
			f.Feed().Add(context.Background(), nil, []byte(context0+strings.Repeat(stack, 20)))
		}
		if allocated := testing.AllocsPerRun(10, func() {
			if _, n := f.Known(dst, again); n != len(again) {
				t.Errorf("%d bytes of %q are known", n, again)
			}
		}); allocated > 0 {
			t.Errorf("%v times memory for %q", allocated, stack)
		}
	}
}
