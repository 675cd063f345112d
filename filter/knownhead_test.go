package filter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// loggers write what stands before a text, at a time and for one of a few threads.
var loggers = []func(second, thread int) string{
	func(s, t int) string {
		return fmt.Sprintf("11-21 10:11:%02d.%03d  70%d  71%d I app     : ", s%60, s*37%1000, t/2, t)
	},
	func(s, t int) string {
		return fmt.Sprintf("2026-11-21 10:11:%02d.%03d  70%d  71%d E app%d: ", s%60, s*37%1000, t/2, t, t)
	},
	func(s, t int) string { return fmt.Sprintf("Nov 21 10:11:%02d host app[70%d]: ", s%60, t) },
	func(s, t int) string {
		return fmt.Sprintf("2026-11-21T10:11:%02d.%09dZ stderr F ", s%60, s*37)
	},
	func(s, t int) string { return fmt.Sprintf("2026-11-21T10:11:%02d+0100 host app[70%d]: ", s%60, t) },
	func(s, t int) string { return fmt.Sprintf("2026-11-21 10:11:%02d.%06d ", s%60, s*37) },
	func(s, t int) string { return fmt.Sprintf("I/app(%5d): ", 700+t) },
	func(s, t int) string { return fmt.Sprintf("web-%d  | ", t) },
	func(s, t int) string { return fmt.Sprintf("[ %4d.%06d] ", s, s*37) },
}

// behindLog writes frames of few tails behind prefixes that come again, and what changes how they are read: parts of lines, headlines, lists.
func behindLog(r *filtertest.Nasty, n int) string {
	var b strings.Builder
	logger := loggers[r.IntN(len(loggers))]
	favourites := []string{r.Pick(textTails...), r.Pick(textTails[:6]...), textTails[0]}
	number, thread := 0, 0
	before := func(s int) string {
		if r.One(15) {
			thread = r.IntN(12)
		}
		if r.One(60) {
			logger = loggers[r.IntN(len(loggers))]
		}
		return logger(s, thread)
	}
	for s := range n {
		number = (number + 1) * min(1, r.IntN(9))
		tail := r.Pick(favourites...)
		frame := fmt.Sprintf("%s#%d 0x7f00000%05x", r.Pick("    ", "    ", "", " "), number, r.IntN(2)*4096)
		at := before(s)
		switch k := r.IntN(50); {
		case k < 40:
			b.WriteString(at + frame + tail + "\n")
		case k < 42: // a frame in two parts
			first := frame + tail
			if r.One(2) {
				first = "{{{pc:0x1010}}}"
				b.WriteString(at + "{{{module:0:a.so:elf:0123abcd}}}\n" + at + "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n")
			}
			cut := r.IntN(len(first))
			b.WriteString(at + first[:cut] + "\n")
			if r.One(2) {
				b.WriteString(at + r.Pick("text", frame+favourites[2]) + "\n")
			}
			if r.One(4) {
				at = before(s)
			}
			b.WriteString(at + first[cut:] + "\n")
		case k < 43:
			text := strings.Repeat("x", 900+r.IntN(200)) + frame
			b.WriteString(at + text + r.Pick("", tail[:2], tail) + "\n" + at + tail + "\n")
		case k < 45:
			b.WriteString(at + r.Pick("==7==ERROR: AddressSanitizer: x", "WARNING: ThreadSanitizer: data race (pid=705)", "SUMMARY: AddressSanitizer: x", "a.c:1:2: runtime error: z",
				"pid: 9, tid: 9, name: x  >>> x <<<", "text", "", "{{{reset}}}", "{{{module:0:a.so:elf:0123abcd}}}", "{{{hexdict:a=0x1", "}}}", "7f0000000000-7f0000002000 r-xp 00000000 00:00 0   /lib/a.so",
				"========= Host Frame:f [0x20]", "=========                in /lib/a.so", "\x1b[31m", "{\"msg\":\"#0 0x7f20"+tail+"\"}") + "\n")
		case k < 46:
			b.WriteString(strings.ReplaceAll(at, " F ", " P ") + frame + tail[:r.IntN(len(tail))] + "\n")
		case k < 47:
			b.WriteString("[ 11-21 10:00:00.000  7: 7 E/x ]\n")
		case k < 48:
			b.WriteString(frame + tail + "\n")
		default:
			b.WriteString("text\n")
		}
	}
	return b.String()
}

// TestKnownBehind holds that frames with a known tail behind the prefix of a logger that comes again become what they become when they are looked
// at in full, with the same messages and counts, and that what follows them does, too.
func TestKnownBehind(t *testing.T) {
	known := 0
	for seed := range uint64(700) {
		r := &filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 13))}
		log := behindLog(r, 150)
		o := filter.Options{Symbols: &symbols{}, Renumber: print.Renumber(r.IntN(2) * r.IntN(3)), Adjust: resolve.Adjust(r.IntN(2) * r.IntN(3)), Explain: r.One(4),
			By: prefix.By(r.IntN(2) * r.IntN(4))}
		filtered := func(quick bool) string {
			var seen []string
			return tell(t, withPrinters(o, seed, &seen), func(f *filter.Filter, out *strings.Builder) {
				f.FullLook(!quick)
				if err := f.Run(context.Background(), strings.NewReader(log), out); err != nil {
					t.Fatal(err)
				}
				if quick {
					known += f.KnownHeads()
				}
			}) + strings.Join(seen, "\n")
		}
		if got, want := filtered(true), filtered(false); got != want {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: got %q\nwant %q", seed, filtertest.Cut(got[max(0, i-200):]), filtertest.Cut(want[max(0, i-200):]))
		}
	}
	if known < 400 {
		t.Errorf("only %d prefixes came again with frames that are known", known)
	}
}

// TestKnownBehindCost holds that such a line costs no memory.
func TestKnownBehindCost(t *testing.T) {
	line := func(s int) []byte {
		return []byte(loggers[0](s, 1) + "    #0 0x7f0000000020  (/lib/a.so+0x20) (BuildId: 0123abcd)\n")
	}
	f := filter.New(filter.Options{Symbols: &symbols{}})
	d := f.Feed()
	for s := range 20 {
		d.Add(context.Background(), nil, line(s))
	}
	again, dst := line(30), make([]byte, 0, 1<<12)
	out, n := f.KnownBehind(dst, again)
	if want := feed(filter.Options{Symbols: &symbols{}}, string(again)); n != len(again) || string(out) != want {
		t.Errorf("%d bytes are known as %q, want %q", n, out, want)
	}
	if allocated := testing.AllocsPerRun(10, func() { f.KnownBehind(dst, again) }); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
}

// datedSymbols answers with a file that was found by its path alone, and was changed at a time.
type datedSymbols struct{ changed time.Time }

func (s datedSymbols) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "f", File: "/src/a.c", Line: 7}}, Files: &symsrc.Files{Elf: "/lib/a.so", Unverified: true, Changed: s.changed}}
}

// TestKnownBehindDates holds that lines of a file which no build ID verifies are marked where the log's line is older than the file, and only there,
// also where the frame is known.
func TestKnownBehindDates(t *testing.T) {
	var log strings.Builder
	for i := range 60 {
		fmt.Fprintf(&log, "%s    #0 0x7f0000000020  (/lib/a.so+0x20)%s\n", loggers[i/2%2*5](i, 1), []string{"", " (BuildId: 0123abcd)"}[i/20%2])
	}
	for i := range 20 {
		fmt.Fprintf(&log, "    #0 0x7f0000000020  (/lib/a.so+0x20)%s\n", []string{"", " (BuildId: 0123abcd)"}[i/10])
	}
	o := filter.Options{Symbols: datedSymbols{time.Date(2026, 11, 21, 10, 11, 30, 0, time.Local)}}
	filtered := func(quick bool) string {
		return tell(t, o, func(f *filter.Filter, out *strings.Builder) {
			f.Written(time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local))
			f.FullLook(!quick)
			if err := f.Run(context.Background(), strings.NewReader(log.String()), out); err != nil {
				t.Fatal(err)
			}
		})
	}
	if got, want := filtered(true), filtered(false); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
