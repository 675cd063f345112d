package filter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/stream"
	"qss-filter/sgr"
)

// feedOptions are options that keep different things from line to line.
func feedOptions() map[string]filter.Options {
	return map[string]filter.Options{
		"default": {}, "keep": {Context: print.ContextKeep}, "drop": {Context: print.ContextDrop}, "dedupe": {Dedupe: true},
		"append": {Style: print.Append}, "replace": {Style: print.Replace, Renumber: print.RenumberAlways},
		"ahead": {Lookahead: filter.Lookahead{Lines: 50, Time: 1 << 40}}, "colours": {Palette: sgr.NewPalette(true)},
		"explain": {Explain: true}, "json": {JSON: &jsonl.Options{}}, "strip": {StripSGR: true},
	}
}

// TestFeedIsRun holds that a log which comes in lines, or in pieces, becomes what a run makes of it.
func TestFeedIsRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for log, text := range filtertest.Samples(t) {
		if len(text) > 64<<10 {
			text = text[:64<<10]
		}
		for name, o := range feedOptions() {
			o.Symbols = filtertest.Programs()
			want := filtertest.Run(t, o, text)
			lines := filter.New(o).Feed()
			pieces := filter.New(o).Feed()
			var byLine, byPiece []byte
			for line := range strings.Lines(text) {
				byLine = lines.Add(t.Context(), byLine, []byte(line))
				if at := rng.IntN(len(line) + 1); at < len(line) {
					byPiece = pieces.Add(t.Context(), byPiece, []byte(line[:at]))
					if at > 0 && !pieces.Unfinished() {
						t.Fatalf("%s: the beginning of a line is taken for a line", log)
					}
					line = line[at:]
				}
				byPiece = pieces.Add(t.Context(), byPiece, []byte(line))
			}
			if lines.Unfinished() { // its end is what a feed waits for
				byLine = lines.Add(t.Context(), byLine, []byte("\n"))
				byPiece = pieces.Add(t.Context(), byPiece, []byte("\n"))
				want = filtertest.Run(t, o, text+"\n")
			}
			byLine, byPiece = lines.Flush(byLine), pieces.Flush(byPiece)
			if lines.Holds() || string(byLine) != want || string(byPiece) != want {
				t.Errorf("%s, %s:\n%s\n%s", log, name, firstDifference(string(byLine), want), firstDifference(string(byPiece), want))
			}
		}
	}
}

// TestFeedLongLine holds that a line which is too long to be looked at leaves as it comes, and is not kept.
func TestFeedLongLine(t *testing.T) {
	f := filter.New(filter.Options{Symbols: filtertest.Programs()}).Feed()
	part := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	var out []byte
	for i := range 12 {
		out = f.Add(t.Context(), out, part)
		if held := (i+1)*len(part) - len(out); held > 2<<20 || f.Holds() != (held > 0) {
			t.Fatalf("%d bytes are held back: %v", held, f.Holds())
		}
	}
	out = f.Add(t.Context(), out, []byte("\r\nnext\n"))
	if want := string(bytes.Repeat(part, 12)) + "\r\nnext\n"; string(out) != want || f.Unfinished() {
		t.Errorf("%d bytes of %d", len(out), len(want))
	}
}

// TestResume breaks logs off wherever that is said to do no harm: a new filter goes on as the first one would have.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	logs := filtertest.Samples(t)
	logs["processes"] = strings.Join(slices.Concat(markupOf("a", 0x7f0000000000), []string{"text", "more", "and more", "yet more"},
		markupOf("b", 0x7f0000004000)[1:], []string{"1", "2", "3", "4", "{{{bt:3:0x7f0000009300:ra}}}", "#0 0x7f0000009300"}), "\n") + "\n"
	for i, line := range strings.SplitAfter(strings.TrimSuffix(logs["processes"], "\n"), "\n") {
		logs["prefixed"] += fmt.Sprintf("Nov 21 07:00:00 h1 app[%d]: %s", 4000+i/2%3, line) // each has some of it
	}
	logs["prefixed"] += "\n"
	for i := range 60 { // frames so close to each other that a next one is not the first of its stack, of two threads
		logs["dense"] += []string{"", "", "Nov 21 07:00:00 h1 app[4000]: "}[i%3] + []string{"text", "C  [a.so+0x11b9]", "{{{bt:0:0x7f0000009300}}}", "text"}[i%4] + "\n"
	}
	logs["dense"] = strings.Join(markupOf("a", 0x7f0000000000), "\n") + "\n" + logs["dense"]
	broken, withContext := 0, map[string]int{}
	for log, text := range logs {
		lines := strings.SplitAfter(strings.TrimSuffix(text[:min(len(text), 32<<10)], "\n"), "\n")
		for name, o := range feedOptions() {
			o.Symbols = filtertest.Programs()
			if log == "processes" || log == "prefixed" || log == "dense" {
				o.Symbols = addresses{}
			}
			first := filter.New(o)
			feed := first.Feed()
			var rest []*strings.Builder // what the filters put in have written
			var feeds []*stream.Feed
			var want strings.Builder
			var from []int
			for _, line := range lines {
				if !strings.HasSuffix(line, "\n") {
					line += "\n"
				}
				got := feed.Add(t.Context(), nil, []byte(line))
				want.Write(got)
				for i, f := range feeds {
					rest[i].Write(f.Add(t.Context(), nil, []byte(line)))
				}
				state, ok := first.Resume(nil)
				if !ok || len(feeds) > 20 || rng.IntN(4) > 0 && log != "processes" && log != "prefixed" && log != "dense" {
					continue
				}
				broken++
				if len(state) > 0 {
					withContext[log]++
				}
				f := filter.New(o).Feed()
				f.Flush(f.Add(t.Context(), nil, state))
				feeds, rest, from = append(feeds, f), append(rest, &strings.Builder{}), append(from, want.Len())
			}
			want.Write(feed.Flush(nil))
			for i, f := range feeds {
				rest[i].Write(f.Flush(nil))
				if got, want := rest[i].String(), want.String()[from[i]:]; got != want {
					t.Errorf("%s, %s: %s", log, name, firstDifference(got, want))
				}
			}
		}
	}
	if broken < 500 || withContext["processes"] < 10 || withContext["prefixed"] < 10 || withContext["dense"] < 10 {
		t.Errorf("broken off %d times, with context %v", broken, withContext)
	}
}

// TestTally counts frames by what became of them.
func TestTally(t *testing.T) {
	f := filter.New(filter.Options{Symbols: nothing{}})
	feed := f.Feed()
	feed.Add(t.Context(), nil, []byte("#0 0x1 (/a.so+0x1)\n#1 0x2 (/a.so+0x2)\ntext\n"))
	if got := f.Tally(); got.Frames != 2 || got.Unnamed() != 2 || got.By[notFound] != 2 {
		t.Errorf("%+v", got)
	}
}
