package filter_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// TestSamplesWithOptions runs every sample log with every option behind some prefixes: what the options hold back or put
// elsewhere must not lose a line, and what was filtered once stays as it is.
func TestSamplesWithOptions(t *testing.T) {
	options := map[string]filter.Options{
		"append": {Style: print.Append}, "replace": {Style: print.Replace}, "always": {Renumber: print.RenumberAlways},
		"never": {Renumber: print.RenumberNever}, "dedupe": {Dedupe: true}, "strip": {StripSGR: true}, "explain": {Explain: true},
		"lookahead": {Lookahead: filter.Lookahead{Lines: 20, Time: time.Hour}}, "colour": {Palette: sgr.NewPalette(true)},
		"names":                {Names: print.Names{Short: true, Map: []print.PathMap{{From: "/home/dev", To: "/here"}}, Strip: []string{"/here/crash-examples"}}},
		"sources":              {Sources: everyFile{}, SourceLines: 3},
		"explain in colour":    {Explain: true, Palette: sgr.NewPalette(true)},
		"dedupe and lookahead": {Dedupe: true, Lookahead: filter.Lookahead{Time: time.Hour}}, "drop": {Context: print.ContextDrop},
	}
	for name, log := range filtertest.Samples(t) {
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		for i, p := range prefixtest.All() {
			if i%9 != 0 {
				continue
			}
			in := wrap(&p, lines)
			for option, o := range options {
				out := filtertest.Run(t, o, in)
				switch option {
				case "append":
					if missing := lost(in, out); missing != "" {
						t.Errorf("%s behind %s, --frames=append: lost %q", name, p.Name, missing)
					}
				case "dedupe":
					if want := filtertest.Run(t, filter.Options{}, in); !strings.Contains(out, "[same as stack") && out != want {
						t.Errorf("%s behind %s, --dedupe without a stack that comes again: %s", name, p.Name, firstDifference(out, want))
					}
				case "lookahead":
					if want := filtertest.Run(t, filter.Options{}, in); strings.Count(out, "\n") < strings.Count(in, "\n")-strings.Count(in, "{{{m") && out != want {
						t.Errorf("%s behind %s, --lookahead: %s", name, p.Name, firstDifference(out, want))
					}
				}
				if option == "append" {
					continue // below an untouched line the answer comes again
				}
				if again := filtertest.Run(t, o, out); again != out && option != "dedupe" && option != "dedupe and lookahead" {
					t.Errorf("%s behind %s, %s, filtered twice: %s", name, p.Name, option, firstDifference(again, out))
				}
			}
		}
	}
}

// everyFile is source code of which there is some for every place.
type everyFile struct{}

func (everyFile) Excerpt(_ context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	return symsrc.Excerpt{First: max(1, p.Line-around), Lines: []string{"{", "\tf(0x7f20);", "}"}, Note: "a.c, not verified"}
}

// lost returns the first line of in that is not in out, in order.
func lost(in, out string) string {
	for line := range strings.Lines(in) {
		i := strings.Index(out, strings.TrimSuffix(strings.TrimRight(line, "\r\n"), `"}`)[:min(len(line)-1, 20)])
		if i < 0 {
			return line
		}
	}
	return ""
}

// TestByteByByte holds that it does not matter in which pieces a log comes.
func TestByteByByte(t *testing.T) {
	for name, log := range filtertest.Samples(t) {
		want := filtertest.Run(t, filter.Options{Context: print.ContextKeep}, log) // what is folded leaves when the input pauses
		var out bytes.Buffer
		f := filter.New(filter.Options{Symbols: filtertest.Programs(), Context: print.ContextKeep})
		if err := f.Run(t.Context(), stream.Steady(iotest.HalfReader(iotest.HalfReader(iotest.HalfReader(strings.NewReader(log))))), &out); err != nil {
			t.Fatal(err)
		}
		f.End()
		if got := out.String(); got != want {
			t.Errorf("%s: %s", name, firstDifference(got, want))
		}
		out.Reset()
		f = filter.New(filter.Options{Symbols: filtertest.Programs(), Context: print.ContextKeep})
		if err := f.Run(t.Context(), stream.Steady(iotest.OneByteReader(strings.NewReader(log))), &out); err != nil {
			t.Fatal(err)
		}
		f.End()
		if got := out.String(); got != want {
			t.Errorf("%s, byte by byte: %s", name, firstDifference(got, want))
		}
	}
}

// TestNested holds that what nested elements become is no other element, or that their line stays as it is.
func TestNested(t *testing.T) {
	for _, in := range []string{
		"{{{symbol:{{{symbol:_Z3foov}}}}}}\n", "<<<symbol:{{{symbol:_Z3foov}}}>>>\n", "{{{symbol:<<<symbol:_Z3foov>>>}}}\n",
		"{{{{{{symbol:symbol}}}:_Z3foov}}}\n", "<<<{{{symbol:reset}}}>>>\n", "<{{{symbol:<}}}<symbol:_Z3foov>>>\n",
		"{{{module:0:a:elf:aa}}}{{{mmap:0x1000:0x1000:load:0:rx:0}}}{{{{{{symbol:bt}}}:0:0x1010}}}\n",
		"{{{module:0:{{{symbol:x}}}:elf:aa}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n{{{bt:0:0x1010:pc}}}\n",
		"{{{module:0:<<<symbol:x>>>:elf:aa}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n{{{bt:0:0x1010:pc}}}\n",
	} {
		for _, o := range []filter.Options{{}, {Explain: true}, {Palette: sgr.NewPalette(true)}, {Style: print.Replace}} {
			o.Symbols = nothing{}
			once := filtertest.Run(t, o, in)
			if again := filtertest.Run(t, o, once); again != once {
				t.Errorf("%q becomes\n%q and then\n%q", in, once, again)
			}
		}
	}
}
