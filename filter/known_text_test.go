package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
)

// tails are what may stand behind a frame's address.
var textTails = []string{
	"  (/lib/a.so+0x20) (BuildId: 0123abcd)", "  (/lib/a.so+0x30) (BuildId: 0123abcd)", " (/lib/a.so+0x20) (Buildid: 0123abcd)",
	" in f (/lib/a.so+0x20) (BuildId: 0123abcd)", " f (/lib/a.so+0x40) (BuildId: 0123abcd)", "  (/lib/a.so+0x20)", "  (/lib/none.so+0x20) (BuildId: 4567)",
	"  (/lib/a.so+0x20) (BuildId: 0123abcd) |", "\t(/lib/a.so+0x20) (BuildId: 0123abcd)", "  \x1b[1m(/lib/a.so+0x20)\x1b[0m (BuildId: 0123abcd)",
	"  (/lib/a.so+0x20) (BuildId: 0123abcd) and (/lib/a.so+0x30)", "  (/lib/a.so+0x10) (BuildId: 0123abcd) {{{pc:0x1010}}}",
	" main", "  (/lib/a.so+0x40) (BuildId: 0123abcd) [INF]", " in f /src/a.c:8:5 (/lib/a.so+0x20) (BuildId: 0123abcd)",
}

// stackLog writes stacks of few kinds of frames with those tails, and what changes how frames are read.
func stackLog(r *rand.Rand, n int, tails []string) string {
	var log strings.Builder
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	favourites := []string{pick(tails...), pick(tails...), tails[r.IntN(6)]}
	number := 0
	for range n {
		switch k := r.IntN(40); {
		case k < 30:
			number = (number + 1) * min(1, r.IntN(9))
			tail := favourites[r.IntN(len(favourites))]
			if r.IntN(20) == 0 {
				tail = pick(tails...)
			}
			address := fmt.Sprintf(pick("%#x", "%#x", "%#x", "%#016x", "0x%016x", "%X"), 0x7f0000000000+uint64(r.IntN(2)*4096))
			log.WriteString(pick("    ", "    ", "    ", "", " ", "\t", "  * ", "==7==", "I/x(7): ", "a | ", "11-21 10:11:12.123     7     7 I x       :     ", "11-21 10:11:12.123     9    10 I y       :     ", "[ 12.5][  T77] ", "Nov 21 10:11:12 host a[7]: ") + "#" +
				fmt.Sprintf(pick("%d", "%d", "%d", "%02d"), number) + pick(" ", " ", " ", "  ") + address + tail + pick("\n", "\n", "\n", "\n", "\n", "\r\n"))
		case k < 32:
			log.WriteString(pick("==7==ERROR: AddressSanitizer: heap-use-after-free\n", "WARNING: ThreadSanitizer: data race (pid=7)\n", "SUMMARY: AddressSanitizer: x\n", "SUMMARY: AddressSanitizer: x (/lib/a.so+0x20) in f\n",
				"==8==ERROR: LeakSanitizer: y\n", "a.c:1:2: runtime error: z\n"))
		case k < 34:
			log.WriteString(pick("{{{reset}}}\n", "{{{module:0:a.so:elf:0123abcd}}}\n", "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", "{{{bt:0:0x1021}}}\n", "{{{hexdict:a=0x1\n", "}}}\n"))
		case k < 35:
			log.WriteString(pick("[ 11-21 10:00:00.000  7: 7 E/x ]\n", "\n", "I/x(9): text\n", "web-1  | text\n", "\x1b[31m\n", "\x1b[0m\n"))
		case k < 36:
			log.WriteString("7f0000000000-7f0000002000 r-xp 00000000 00:00 0   /lib/a.so\n")
		default:
			log.WriteString("text\n")
		}
	}
	return log.String()
}

// withPrinters returns options with others, of what may stand between a known line and the output, that a number selects.
// What observers are told goes to seen.
func withPrinters(o filter.Options, by uint64, seen *[]string) filter.Options {
	r := rand.New(rand.NewPCG(by, 17))
	one := func(n int) bool { return r.IntN(n) == 0 }
	o.Dedupe, o.OnlyStacks, o.Below, o.Count = one(9), one(6), one(2), one(4)
	if one(3) {
		o.Palette = sgr.NewPalette(true)
		_ = o.Links.Set([]string{"none", "file"}[r.IntN(2)])
	}
	if one(5) {
		o.Screen = &print.Screen{Columns: 80}
	}
	if one(9) {
		o.JSON = &jsonl.Options{}
	}
	if one(5) {
		o.Observe = func(of *print.Observation) {
			is := *of
			is.Thread, is.Files = nil, nil
			*seen = append(*seen, fmt.Sprintf("%+v", is))
			of.Apart, of.Below = of.Line%2 == 0, [][]byte{of.Rest}
		}
	}
	if one(9) {
		o.Read = func(first int, lines []byte) { *seen = append(*seen, fmt.Sprintf("%d: %q", first, lines)) }
	}
	return o
}

// TestKnownText holds that frames with a known tail become what they become when they are looked at in full, with the same
// messages and counts.
func TestKnownText(t *testing.T) {
	read := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 7))
		log := stackLog(r, 120, textTails)
		o := filter.Options{Symbols: &symbols{}, Renumber: print.Renumber(r.IntN(2) * r.IntN(3)), Adjust: resolve.Adjust(r.IntN(2) * r.IntN(3)), StripSGR: r.IntN(4) == 0, Explain: r.IntN(4) == 0,
			Style: print.Style(r.IntN(2) * r.IntN(3))}
		filtered := func(known bool) string {
			var seen []string
			return tell(t, withPrinters(o, seed, &seen), func(f *filter.Filter, out *strings.Builder) {
				f.FullLook(!known)
				if err := f.Run(context.Background(), strings.NewReader(log), out); err != nil {
					t.Fatal(err)
				}
				read += f.KnownRead()
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
	if read < 300 {
		t.Errorf("only %d frames were kept to be printed anew", read)
	}
}

// TestKnownTextIsKnown holds that stacks which come again at other addresses, and their inlined functions, are known, and
// cost no memory.
func TestKnownTextIsKnown(t *testing.T) {
	stack := func(base int64) string {
		return fmt.Sprintf("    #0 %#x  (/lib/a.so+0x20) (BuildId: 0123abcd)\n    #1 %#x  (/lib/a.so+0x30) (BuildId: 0123abcd)\n", base+0x20, base+0x30)
	}
	again, dst := []byte(stack(0x7f1230000000)), make([]byte, 0, 1<<12)
	var f *filter.Filter
	n := 0
	for range 20 { // the two lines may share a place in a filter's table
		f = filter.New(filter.Options{Symbols: &symbols{}})
		became(f, nil, []byte(strings.Repeat(stack(0x7f0000000000), 3)))
		var out []byte
		if out, n = f.Known(dst, again); n > 0 && string(out) != feed(filter.Options{Symbols: &symbols{}}, string(again)) {
			t.Fatalf("known as %q", out)
		}
		if n == len(again) {
			break
		}
	}
	if n < len(again) {
		t.Errorf("%d of %d bytes are known", n, len(again))
	}
	if allocated := testing.AllocsPerRun(10, func() { f.Known(dst, again) }); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
}

// TestKnownStaysOff holds that lines which are looked at in full after a panic are so for the rest of the log, whatever is said of it later.
func TestKnownStaysOff(t *testing.T) {
	for _, o := range []filter.Options{{}, {JSON: &jsonl.Options{}}} {
		o.Symbols = &symbols{}
		f := filter.New(o)
		f.FullLook(true)
		f.Input("another")
		f.Written(time.Now())
		line := []byte("    #0 0x7f0000000000  (/lib/a.so+0x20) (BuildId: 0123abcd)\n")
		became(f, nil, bytes.Repeat(line, 5))
		if _, n := f.Known(nil, line); n > 0 {
			t.Error("a line is known")
		}
	}
}

// TestKnownBelowHeadline holds that the summary of a report is about its first frame also where that came before: its address is adjusted as that is.
func TestKnownBelowHeadline(t *testing.T) {
	const report = "WARNING: ThreadSanitizer: heap-use-after-free (pid=7)\n  Write of size 8 at 0x7d5c0005ed00 by main thread:\n" +
		"    #0 0x7f0000000020 f (/lib/a.so+0x20)\n    #1 g (/lib/a.so+0x30)\n\nSUMMARY: ThreadSanitizer: heap-use-after-free (/lib/a.so+0x20) in f\n"
	filtered := func(known bool) string {
		return tell(t, filter.Options{Symbols: &symbols{}, JSON: &jsonl.Options{}}, func(f *filter.Filter, out *strings.Builder) {
			f.FullLook(!known)
			if err := f.Run(context.Background(), strings.NewReader(strings.Repeat(report, 6)), out); err != nil {
				t.Fatal(err)
			}
		})
	}
	if got, want := filtered(true), filtered(false); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
