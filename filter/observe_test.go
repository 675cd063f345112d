package filter_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// oneName names every address alike, but those of a module named bad.
type oneName struct{}

func (oneName) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Module.Name == "/bad" {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound}}
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "f", File: "a.c", Line: int(q.Offset)}}}
}

// TestObserve tells of every frame once, in all styles, and lets the observer write below frames.
func TestObserve(t *testing.T) {
	const log = "text\n#0 0x7010 main (/a+0x10) (BuildId: abcd)\n#1 0x7020 (/bad+0x20)\n#2 0x1 in g /x.c:3\n" +
		"SUMMARY: AddressSanitizer: SEGV (/a+0x8)\n{{{module:0:m:elf:ef}}}\n{{{mmap:0x1000:0x100:load:0:rx:0}}}\n{{{bt:4:0x1004}}}\n" +
		"at {{{pc:0x1008}}}\n{\"log\":\"#5 0x7040 (/a+0x40)\\n\"}\n"
	want := []string{"2 #0 0x7010 /a 0x10 10 main f", "3 #1 0x7020 /bad 0x20 20 ", "4 #2 0x1 done", "5 sentence /a 0x8 8 f",
		"8 #4 0x1004 m 4 f", "9 sentence m 8 f", "10 #5 0x7040 /a 0x40 40 f"}
	for _, style := range []print.Style{print.Annotate, print.Append, print.Replace} {
		var got []string
		f := filter.New(filter.Options{Symbols: oneName{}, Adjust: resolve.AdjustNone, Style: style, Below: style == print.Append, Observe: func(o *print.Observation) {
			text := fmt.Sprint(o.Line)
			for _, part := range []struct {
				is   bool
				text string
			}{{o.Numbered, fmt.Sprintf("#%d", o.Number)}, {o.Sentence, "sentence"}, {!o.Sentence, string(o.Address)}, {o.Outcome == resolve.InLog, "done"},
				{o.Located, o.Module.Name}, {len(o.Offset) > 0 && o.Outcome != resolve.InLog, string(o.Offset)}, {o.Located, fmt.Sprintf("%x", o.At)},
				{len(o.Hint) > 0 && o.Outcome != resolve.InLog, strings.TrimSpace(string(o.Hint))}, {len(o.Frames) > 0, "f"}, {o.Files != nil, ""}} {
				if part.is {
					text += " " + part.text
				}
			}
			got = append(got, text)
			o.Below, o.Apart = [][]byte{[]byte("below")}, o.Numbered && o.Number == 1
		}})
		var out strings.Builder
		if err := f.Run(context.Background(), strings.NewReader(log), &out); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("style %d:\n%q, want\n%q", style, got, want)
		}
		if style == print.Append && !strings.Contains(out.String(), "(BuildId: abcd)\n  -> below\n\n#1 0x7020 (/bad+0x20)\n  -> below\n") {
			t.Errorf("got\n%s", &out)
		}
	}
}

// TestCountingChangesNothing holds that a log comes out the same whether its frames are counted, observed, or neither.
func TestCountingChangesNothing(t *testing.T) {
	for name, log := range filtertest.Samples(t) {
		log += log // whose stacks come again
		for _, o := range []filter.Options{{}, {Explain: true}, {Dedupe: true}, {Palette: sgr.NewPalette(true)}, {Style: print.Append}, {Style: print.Replace},
			{Renumber: print.RenumberAlways}, {Dedupe: true, Palette: sgr.NewPalette(true), StripSGR: true}} {
			want := filtertest.Run(t, o, log)
			counted, observed := o, o
			counted.Count, observed.Observe = true, func(*print.Observation) {}
			for how, o := range map[string]filter.Options{"counted": counted, "observed": observed} {
				if got := filtertest.Run(t, o, log); got != want {
					t.Errorf("%s, %s, %+v: %s", name, how, o, firstDifference(got, want))
				}
			}
		}
	}
}

// TestSteady holds that a line which arrives byte by byte is seen whole.
func TestSteady(t *testing.T) {
	seen := 0
	f := filter.New(filter.Options{Symbols: oneName{}, Observe: func(*print.Observation) { seen++ }})
	in := iotest.OneByteReader(strings.NewReader("#0 0x7010 (/a+0x10)\n"))
	if err := f.Run(context.Background(), stream.Steady(in), io.Discard); err != nil || seen != 1 {
		t.Errorf("%d frames, error %v", seen, err)
	}
}
