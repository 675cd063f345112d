package filter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// TestKnownLines holds that lines which are known become what they become when they are not, in all ways to show context.
func TestKnownLines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, moved := range []bool{false, true} {
			log := filtertest.Processes(20, moved, end)
			for _, o := range []filter.Options{{}, {Context: print.ContextKeep}, {Context: print.ContextDrop}} {
				o.Symbols = &symbols{}
				want := feed(o, log) // line by line
				if got := runAll(t, o, strings.NewReader(log)); got != want {
					t.Errorf("moved %v, end %q: got %q\nwant %q", moved, end, filtertest.Cut(got), filtertest.Cut(want))
				}
			}
		}
	}
}

// TestKnownLinesRandom does the same with random logs, in the default style with its messages and counts.
func TestKnownLinesRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 3)), Targets: []filtertest.Target{{ID: "0123abcd", At: []uint64{0x10, 0x20, 0x30, 0x40}}}}
		log := r.Again(r.Log(60))
		o := filter.Options{Symbols: &symbols{}, Context: print.Context(r.IntN(2) * r.IntN(3)), StripSGR: r.One(4), Explain: r.One(4)}
		if r.One(3) {
			o.Palette = sgr.NewPalette(true)
		}
		o.OnlyStacks = r.One(5)
		want := tell(t, o, func(f *filter.Filter, out *strings.Builder) {
			for line := range strings.Lines(log) {
				out.Write(f.Line(context.Background(), nil, []byte(line)))
			}
			out.Write(f.Flush(nil))
		})
		got := tell(t, o, func(f *filter.Filter, out *strings.Builder) {
			if err := f.Run(context.Background(), strings.NewReader(log), out); err != nil {
				t.Fatal(err)
			}
		})
		if got != want {
			i := 0
			for got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: got %q\nwant %q", seed, filtertest.Cut(got[max(0, i-100):]), filtertest.Cut(want[max(0, i-100):]))
		}
	}
}

// tell returns what a filter writes, with its messages and its summary.
func tell(t *testing.T, o filter.Options, run func(*filter.Filter, *strings.Builder)) string {
	var out strings.Builder
	var said []string
	o.Warn = func(message string) { said = append(said, message) }
	f := filter.New(o)
	run(f, &out)
	return out.String() + fmt.Sprint(summary(f)) + strings.Join(said, "\n") + "."
}

// namedSymbols answers with the name of the module.
type namedSymbols struct{}

func (namedSymbols) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "in " + q.Module.Name}}, Files: &symsrc.Files{Elf: q.Module.Name}}
}

// TestKnownFrameOfAnotherProcess holds that a frame of a running process, whose mappings no line states, is looked at again
// where another process runs by then.
func TestKnownFrameOfAnotherProcess(t *testing.T) {
	for _, json := range []*jsonl.Options{nil, {}} {
		running := ""
		d := filter.New(filter.Options{Symbols: namedSymbols{}, JSON: json, Maps: func() [][]byte {
			return [][]byte{[]byte("00001000-00002000 r-xp 00000000 08:01 7 /lib/" + running + ".so\n")}
		}}).Feed()
		for _, running = range []string{"first", "second"} {
			out := string(d.Add(context.Background(), nil, []byte(strings.Repeat("{{{bt:0:0x1020:pc}}}\n", 30))))
			if n := strings.Count(out, "in /lib/"+running+".so"); n != 30 {
				t.Errorf("%d frames are of the %s process: %s", n, running, filtertest.Cut(out))
			}
		}
	}
}

// became returns what becomes of lines, in dst's memory.
func became(f *filter.Filter, dst, log []byte) []byte {
	for b := log; len(b) > 0; {
		var n int
		dst, n = f.Lines(context.Background(), dst, b)
		b = b[n:]
	}
	return dst
}

// TestKnownLinesCost holds that lines which are known cost no memory.
func TestKnownLinesCost(t *testing.T) {
	log := []byte(strings.ReplaceAll(filtertest.Processes(20, true, "\n"), "text\n", ""))
	f := filter.New(filter.Options{Symbols: &symbols{}})
	dst := make([]byte, 0, 10*len(log))
	if allocated := testing.AllocsPerRun(3, func() { became(f, dst, log) }); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
}

// TestMalformedLinesCost holds that the reason why the fields of a line are malformed is not asked for, which takes a thousand times as long as reading them,
// only to learn that the line is not a known one.
func TestMalformedLinesCost(t *testing.T) {
	f := filter.New(filter.Options{Symbols: &symbols{}})
	for _, line := range []string{"{{{module:6:lib.so:elf:6f03.84}}}\n", "{{{mmap:0x55ff25b8c000:0x2d420:load:0:q:0x0}}}\n"} {
		if allocated := testing.AllocsPerRun(10, func() { f.Known(nil, []byte(line)) }); allocated > 4 {
			t.Errorf("%v times memory for %q", allocated, line)
		}
	}
}
