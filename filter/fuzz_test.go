package filter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/llvm"
	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// A line of a log is more than what one recogniser reads: a prefix with an element in it, a frame in a string of JSON behind
// another prefix, context in the middle of a stack. FuzzFilter therefore puts lines of all sample logs together, and holds
// what is promised of every log, whatever stands in it, under every combination of options.

// pieces is what mutated logs are made of.
type pieces struct {
	lines    []string // of all samples
	words    []string // of all samples, as blanks part them
	prefixes []prefixtest.Sample
}

var allPieces = sync.OnceValue(func() *pieces {
	p := &pieces{prefixes: prefixtest.All()}
	logs := filtertest.Samples(errorless{})
	seenLine, seenWord := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		for line := range strings.Lines(logs[name]) {
			line = strings.TrimRight(line, "\r\n")
			if !seenLine[line] && len(line) < 2000 {
				seenLine[line] = true
				p.lines = append(p.lines, line)
			}
			for _, word := range strings.Fields(line) {
				if !seenWord[word] && len(word) < 200 {
					seenWord[word] = true
					p.words = append(p.words, word)
				}
			}
		}
	}
	return p
})

// errorless is a testing.TB for what is read once for all tests.
type errorless struct{ testing.TB }

func (errorless) Helper()               {}
func (errorless) Fatal(a ...any)        { panic(a) }
func (errorless) Fatalf(string, ...any) { panic("samples cannot be read") }

// oddities are what logs hold beside words: elements, good and bad, escape sequences, quotes, ends of lines.
var oddities = []string{
	"{{{reset}}}", "{{{reset:begin}}}", "{{{module:0:/a.so:elf:0123abcd}}}", "{{{module:1:b\x1b[31m:elf:ff}}}", "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}",
	"{{{mmap:0xfffffffffffff000:0x1000:load:0:rx:0xffffffffffffff00}}}", "{{{bt:0:0x1010:pc}}}", "{{{bt:1:0x1011:ra:x}}}", "{{{bt:0:0x1010", "{{{pc:0x1010}}}",
	"{{{data:0x1010}}}", "{{{symbol:_Z1fv}}}", "{{{symbol:}}}", "{{{hexdict:RIP: 0x1010", "{{{hexdict:\n", "}}}", "{{{dumpfile:a:b}}}", "{{{", "<<<bt:0:0x1010:pc>>>", "<<<reset>>>",
	"{\"log\":\"", "\\n\"}", "\"}", "\\u001b[31m", "\\\"", "[1,{\"a\":\"", "\x1b[1m", "\x1b[0m", "\x1b[38;5;200m", "\x1b]8;;http://x\x1b\\", "\x1b", "\r", "\r\n", "\n", "\n\n",
	"\x00", "\xff\xfe", "\xef\xbb\xbf", "\u202e", "#0 0x1010 (/a.so+0x10)", "#1 0x7f10 in f (/a.so+0x10) (BuildId: 0123abcd)", "(+0x10)[0x1010]", "0x1010", "#99999999999999999999 ",
	"==7==ERROR: AddressSanitizer: x", "SUMMARY: AddressSanitizer: x (/a.so+0x10)", "1000-2000 r-xp 00000000 08:01 7 /a.so", "    @ 0x1011 f", "pid: 7, tid: 7, name: x  >>> y <<<",
	"Call Trace:", "[<ffffffff81000000>] f+0x1/0x2 [m]", "(gdb) bt", "  File \"a.py\", line 3 in f", "\t", "        ", "ü", "+0xffffffffffffffff", "/a.so", "BuildId: ", "in ",
}

// excerpts has a text for every source file.
type excerpts struct{}

func (excerpts) Excerpt(_ context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	if p.Line%5 == 0 {
		return symsrc.Excerpt{Note: "not verified\x1b[0m"}
	}
	return symsrc.Excerpt{First: max(1, p.Line-around), Lines: []string{"int main()\x1b[31m {", "", "\t#0 0x1010 (/a.so+0x10) {{{reset}}}\xff"}}
}

// mutate changes a log in a few places.
func (p *pieces) mutate(r *rand.Rand, log []byte) []byte {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	lines := bytes.SplitAfter(log, []byte("\n"))
	if n := r.IntN(30); len(lines) > n+1 { // a part of it
		from := r.IntN(len(lines) - n)
		lines = slices.Clone(lines[from : from+n+1])
	}
	insert := func(at int, text string) { lines = slices.Insert(lines, at, []byte(text)) }
	for range 1 + r.IntN(6) {
		i := r.IntN(len(lines))
		line := lines[i]
		at := r.IntN(len(line) + 1)
		splice := func(text string) { lines[i] = slices.Concat(line[:at], []byte(text), line[at:]) }
		switch r.IntN(13) {
		case 0:
			insert(i, pick(p.lines)+"\n")
		case 1, 2, 3:
			splice(pick(oddities))
		case 4:
			splice(pick(p.words))
		case 5:
			splice(pick(p.lines))
		case 6: // behind a prefix
			s := &p.prefixes[r.IntN(len(p.prefixes))]
			text := strings.TrimRight(string(line), "\r\n")
			if s.JSON && r.IntN(4) > 0 {
				text = escape(text)
			}
			lines[i] = []byte(s.Line(text, r.IntN(3)+7, i) + "\n")
		case 7: // a prefix with something in it
			s := &p.prefixes[r.IntN(len(p.prefixes))]
			before := s.Before(7, i)
			cut := r.IntN(len(before) + 1)
			insert(i, before[:cut]+pick(oddities)+before[cut:]+strings.TrimRight(string(line), "\r\n")+"\n")
		case 8:
			end := at + r.IntN(min(20, len(line)-at)+1)
			lines[i] = slices.Concat(line[:at], line[end:])
		case 9:
			lines = slices.Insert(lines, i, slices.Clone(lines[i:min(len(lines), i+1+r.IntN(4))])...)
		case 10:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 11:
			if len(line) > 0 {
				changed := slices.Clone(line)
				changed[r.IntN(len(line))] ^= 1 << r.IntN(8)
				lines[i] = changed
			}
		case 12: // in a string of JSON
			lines[i] = []byte(`{"log":"` + escape(strings.TrimRight(string(line), "\n")) + "\\n\"}\n")
		}
	}
	return bytes.Join(lines, nil)
}

// options chooses a combination of options.
func (p *pieces) options(r *rand.Rand) filter.Options {
	one := func(n int) bool { return r.IntN(n) == 0 }
	o := filter.Options{Style: print.Style(r.IntN(3)), Renumber: print.Renumber(r.IntN(3)), Adjust: resolve.Adjust(r.IntN(3)), Context: print.Context(r.IntN(3)),
		By: prefix.By(r.IntN(4)), Dedupe: one(4), Explain: one(3), StripSGR: one(6)}
	o.Names.Short, o.Names.Base, o.Names.Relative = one(4), one(6), one(6)
	if one(6) {
		o.Names.Map, o.Names.Strip = []print.PathMap{{From: "/usr", To: "/\x1b["}, {From: "/", To: ""}}, []string{"/home"}
	}
	if one(4) {
		o.Palette = sgr.NewPalette(true)
		if one(2) {
			if err := o.Links.Set("idea"); err != nil {
				panic(err)
			}
		}
	}
	if one(6) {
		o.Sources, o.SourceLines = excerpts{}, 3
	}
	if one(6) {
		o.DumpContext = io.Discard
	}
	if one(6) {
		o.OnDumpfile = func(filter.Dumpfile) {}
	}
	if one(6) {
		o.Observe = func(*print.Observation) {}
	}
	if one(4) {
		o.Lookahead = filter.Lookahead{Lines: 1 + r.IntN(40), Time: time.Hour}
	}
	if one(5) {
		o.Maps = func() [][]byte { return [][]byte{[]byte("1000-2000 r-xp 00000000 08:01 7 /a.so\n")} }
	}
	return o
}

// fed returns what a filter makes of a log that arrives in pieces, which end after each of the given numbers of bytes.
func fed(t *testing.T, o filter.Options, log []byte, sizes func() int) []byte {
	t.Helper()
	o.Warn = func(message string) {
		if strings.Contains(message, "internal error") {
			t.Fatalf("%s\nin %q", message, log)
		}
	}
	return inPieces(t, filter.New(o).Feed(), log, sizes)
}

// inPieces returns what a feed makes of a log.
func inPieces(t *testing.T, feed *stream.Feed, log []byte, sizes func() int) (out []byte) {
	for len(log) > 0 {
		n := min(len(log), sizes())
		out = feed.Add(t.Context(), out, log[:n])
		log = log[n:]
	}
	return feed.Flush(out)
}

// FuzzFilter holds what is promised of every log: that nothing panics, that it does not matter in which pieces it arrives, that
// no byte is lost, and that objects put the log together again. seed chooses the changes of the log (0 for none) and the options.
func FuzzFilter(f *testing.F) {
	logs := filtertest.Samples(f)
	seed := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		log := []byte(logs[name])
		for len(log) > 0 { // in parts that are quick to go through
			end := min(len(log), 3000)
			if nl := bytes.IndexByte(log[end:], '\n'); nl >= 0 && nl < 3000 {
				end += nl + 1
			}
			f.Add(log[:end], seed)
			log = log[end:]
			if seed++; seed%7 == 0 {
				seed++
			}
		}
	}
	f.Add([]byte("11-20 15:58:12.000 1 1 I {{{reset}}}: {{{reset}}}\n"), uint64(0))
	f.Fuzz(func(t *testing.T, log []byte, seed uint64) {
		if len(log) > 1<<14 {
			return
		}
		p := allPieces()
		r := rand.New(rand.NewPCG(seed, 1))
		o := p.options(r)
		if seed != 0 {
			log = p.mutate(r, log)
		}
		if len(log) > 0 && log[len(log)-1] != '\n' {
			log = append(log, '\n')
		}
		o.Symbols = filtertest.Programs().Forgetful()
		checkPieces(t, o, r, log)
		checkObjects(t, o, log)
		checkKept(t, o, log)
		if seed%5 == 0 {
			checkLLVM(t, llvm.Options{Symbols: o.Symbols, Color: seed%2 == 0, NoDemangle: seed%3 == 0}, r, log)
		}
	})
}

// describe names the options that are set.
func describe(o filter.Options) string {
	text := fmt.Sprintf("style %d, renumber %d, adjust %d, context %d, by %s, lookahead %s", o.Style, o.Renumber, o.Adjust, o.Context, o.By, o.Lookahead)
	for name, set := range map[string]bool{"dedupe": o.Dedupe, "explain": o.Explain, "strip SGR": o.StripSGR, "short": o.Names.Short, "colours": o.Palette != nil,
		"maps": o.Maps != nil, "sources": o.Sources != nil, "observed": o.Observe != nil} {
		if set {
			text += ", " + name
		}
	}
	return text
}

// all is a size of pieces: the whole log is one.
func all() int { return 1 << 20 }

// checkPieces holds that a log becomes the same however it arrives.
func checkPieces(t *testing.T, o filter.Options, r *rand.Rand, log []byte) {
	whole := fed(t, o, log, all)
	for name, sizes := range map[string]func() int{
		"pieces": func() int { return 1 + r.IntN(200) },
		"lines":  nil,
	} {
		if sizes == nil {
			lines := slices.Collect(bytes.Lines(log))
			sizes = func() int { n := len(lines[0]); lines = lines[1:]; return n }
		}
		if got := fed(t, o, log, sizes); !bytes.Equal(got, whole) {
			t.Fatalf("%s in %s: %s\nof %q", describe(o), name, firstDifference(string(got), string(whole)), log)
		}
	}
	if o.Palette == nil && bytes.IndexByte(log, 0x1b) < 0 {
		o.Palette = sgr.NewPalette(true)
		inlined := []byte(" (inlined)") // is written in colours only
		got := bytes.ReplaceAll(sgr.Uncolored(nil, fed(t, o, log, all)), inlined, nil)
		if whole = bytes.ReplaceAll(whole, inlined, nil); !bytes.Equal(got, whole) {
			t.Fatalf("%s with colours: %s\nof %q", describe(o), firstDifference(string(got), string(whole)), log)
		}
	}
}

// checkLLVM holds that a log becomes the same in llvm's style, however it arrives.
func checkLLVM(t *testing.T, o llvm.Options, r *rand.Rand, log []byte) {
	o.Warn = func(message string) { t.Fatalf("%s\nin %q", message, log) }
	whole := inPieces(t, llvm.New(o).Feed(), log, all)
	if got := inPieces(t, llvm.New(o).Feed(), log, func() int { return 1 + r.IntN(200) }); !bytes.Equal(got, whole) {
		t.Fatalf("in pieces: %s\nof %q", firstDifference(string(got), string(whole)), log)
	}
}

// checkObjects holds that the log can be put together again from its objects.
func checkObjects(t *testing.T, o filter.Options, log []byte) {
	if o.Dedupe || o.StripSGR {
		return
	}
	o.JSON = &jsonl.Options{}
	var again []byte
	for line := range bytes.Lines(fed(t, o, log, all)) {
		end := "\n"
		x := struct {
			Text  string
			Bytes []byte `json:"text_base64"`
			End   *string
		}{End: &end}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatalf("%s: %v in %q", describe(o), err, line)
		}
		if x.Bytes == nil {
			x.Bytes = []byte(x.Text)
		}
		again = append(append(again, x.Bytes...), *x.End...)
	}
	if !bytes.Equal(again, log) {
		t.Fatalf("%s: the objects are of another log: %s\nof %q", describe(o), firstDifference(string(again), string(log)), log)
	}
}

// checkKept holds that lines stay as they are: where nothing is known all of them, and below each frame's line what is appended.
func checkKept(t *testing.T, o filter.Options, log []byte) {
	o = filter.Options{Symbols: nothing{}, Renumber: o.Renumber, Adjust: o.Adjust, By: o.By, Context: print.ContextKeep, Lookahead: o.Lookahead, Maps: o.Maps}
	was, now := bytes.SplitAfter(log, []byte("\n")), bytes.SplitAfter(fed(t, o, log, all), []byte("\n"))
	if len(was) != len(now) {
		t.Fatalf("%s: %d lines of %d\nof %q", describe(o), len(now), len(was), log)
	}
	for i, line := range was {
		marked := bytes.Contains(line, []byte("{{{")) || bytes.Contains(line, []byte("<<<"))
		if !marked && !bytes.Equal(line, now[i]) {
			t.Fatalf("%s: %q becomes %q\nof %q", describe(o), line, now[i], log)
		}
	}
	o.Symbols, o.Style = filtertest.Programs(), print.Append
	now = bytes.SplitAfter(fed(t, o, log, all), []byte("\n"))
	for _, line := range was {
		at := slices.IndexFunc(now, func(out []byte) bool { return bytes.Equal(out, line) || keptInJSON(out, line) })
		if at < 0 {
			t.Fatalf("%s: line %q is lost or late\nof %q", describe(o), line, log)
		}
		now = now[at+1:]
	}
}

// keptInJSON reports whether a line of the output has all bytes of a line with JSON in their order: to its strings answers are added.
func keptInJSON(out, line []byte) bool {
	if bytes.IndexByte(line, '{') < 0 {
		return false
	}
	for _, c := range out {
		if len(line) > 0 && c == line[0] {
			line = line[1:]
		}
	}
	return len(line) == 0
}
