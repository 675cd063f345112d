package match

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// literals are of each kind: those with a class after the text, and states in which they do not count.
var literals = []Literal{
	{Text: "{{{", When: Always},
	{Text: "*** ***", When: Always},
	{Text: "<<<", When: Always},
	{Text: "offset=0x", When: Always},
	{Text: "==Process memory map", When: Always},
	{Text: "[0x", When: Always},
	{Text: "+0x", When: Always},
	{Text: "+ 0x", When: Always},
	{Text: "Sanitizer", When: Always},
	{Text: "Backtrace:", When: Always},
	{Text: "runtime error:", When: Always},
	{Text: "[unknown] (", When: Always},
	{Text: " pc ", When: Always},
	{Text: "0x", When: Absolute},
	{Text: "<signal handler called>", When: Absolute},
	{Text: "#", After: Digit, When: Renumbering},
	{Text: "\x1b[", When: Coloring},
	{Text: "r-x", When: Always},
	{Text: "build-id", When: Always},
}

// nextNaive is the oracle: the first of the places that are searched for at which any literal stands.
func nextNaive(s *Scan, when When, b []byte, from int) int {
	for i := from; i < len(b); i++ {
		for _, c := range s.all {
			l, at := c.literal, i-c.at
			if l.When&when == 0 || at < 0 || !bytes.HasPrefix(b[at:], []byte(l.Text)) {
				continue
			}
			rest := b[at+len(l.Text):]
			if l.After == Any || len(rest) > 0 && bytes.IndexByte([]byte("0123456789abcdefABCDEF")[:map[Class]int{Digit: 10, Hex: 22}[l.After]], rest[0]) >= 0 {
				return i
			}
		}
	}
	return -1
}

func TestNext(t *testing.T) {
	pieces := []string{"{{{", "<<<", "+0x", "Sanitizer", "runtime error:", "offset=0x", "#7", "\x1b[", "{", "<", "+0", "Sa",
		"r:", "=0", "#", "*** ***", "**", "==Process memory map", "+ 0x", "+ ", "Backtrace:", "Ba", " pc ", "pc", "0x", "r-x", "build-id", "[0x", "[0", "[unknown] (", "n]", "-x", "\n", "some ordinary text ", "\xff\x00\x8b", "{{", "error: x"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, set := range []When{Always, Always | Absolute, Always | Renumbering, Always | Coloring, Renumbering | Coloring} {
		s := NewScan(literals, set)
		for range 2000 {
			var b []byte
			for range rng.IntN(40) {
				b = append(b, pieces[rng.IntN(len(pieces))]...)
			}
			for from := 0; from <= len(b); from += 1 + rng.IntN(8) {
				if got, want := s.Next(b, from), nextNaive(s, set, b, from); got != want {
					t.Fatalf("set %b: Next(%q, %d) = %d, want %d", set, b, from, got, want)
				}
				if got, want := findPortable(b[from:], s), find(b[from:], s); got != want {
					t.Fatalf("set %b: portable search of %q finds %d, the machine's %d", set, b[from:], got, want)
				}
			}
		}
	}
}

// TestFourthByte holds that the search does not stop where a text has but three bytes of a literal, whatever else is in its set.
func TestFourthByte(t *testing.T) {
	var of []Literal
	low := map[byte]bool{}
	for i := range byte(2 * Sets) { // the halves of those of a set make up other bytes
		c := 0x21 + 0x0d*i
		of = append(of, Literal{Text: `","` + string([]byte{c}), When: Always})
		low[c&fourthBits] = true
	}
	s := NewScan(of, Always)
	made := 0
	for c := byte(' '); c < 0xff; c++ {
		b := []byte(`{"a":"b","` + string([]byte{c}) + `":1} and what follows, up to where a vector would reach past the end of the line`)
		if s.Stops(b) > 0 && !low[c&fourthBits] {
			t.Errorf("the search stops in %q", b)
		}
		if last := s.table[32*(Width-1):]; s.class[Width-1][c] == 0 && last[c&15]&last[16+c>>4] != 0 && !low[c&fourthBits] {
			made++
		}
	}
	if made == 0 {
		t.Error("no byte is made up of halves")
	}
}

// TestFits holds that a literal is asked about its own line, and that a line is not asked about without end.
func TestFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var line []byte
	var asked int
	s := NewScan([]Literal{{Text: "word", When: Always, Fits: func(of []byte, at int) bool {
		asked++
		if string(of[at:at+4]) != "word" || !bytes.Equal(of, line) {
			t.Fatalf("asked about %q at %d, want %q", of, at, line)
		}
		return false
	}}}, Always)
	for range 3000 {
		var b []byte
		for range rng.IntN(4) {
			b = append(append(b, bytes.Repeat([]byte{'x'}, rng.IntN(40))...), '\n')
		}
		line = append(bytes.Repeat([]byte{'y'}, rng.IntN(200)), "word"...)
		line = append(line, bytes.Repeat([]byte{'z'}, rng.IntN(20))...)
		b = append(b, line...)
		if rng.IntN(2) == 0 {
			b = append(b, "\nmore\n"...)
		}
		if at := s.Next(b, 0); at >= 0 {
			t.Fatalf("Next(%q) = %d", b, at)
		}
	}
	asked, line = 0, bytes.Repeat([]byte("word "), 100)
	if at := s.Next(line, 0); at != 5*mostAsked || asked != mostAsked {
		t.Errorf("a line of many words stops at %d, after %d were asked", at, asked)
	}
}

// TestEscapes holds that a literal is asked about its line without the escapes of a terminal, and without those of the strings of JSON where
// the line may hold some: elsewhere a backslash means itself.
func TestEscapes(t *testing.T) {
	s := NewScan([]Literal{{Text: "word", When: Always, Fits: func(line []byte, at int) bool {
		return at == 1 && line[0] == '<' && string(line[at+len("word"):]) == ">"
	}}}, Always)
	long := string(bytes.Repeat([]byte{'x'}, maxPlain))
	for line, want := range map[string]bool{
		"<word>": true, "(word>": false, "<word": false,
		"\x1b[1m<\x1b[31mword\x1b[0m>": true, "\x1b[1m<\x1b[31mword\x1b[0m)": false,
		`C:\dir\word>`: false, `<word\n`: false, `{a<word>\n`: false,
		`{"a":"b\n<word>\n"}`: true, `[ "\u003cword>\n"]`: false, `["\n\u003cword\u003e\n"]`: true, `{"a":"\n\u001b[1m<word\u001b[0m>\n"}`: true,
		`{"a":"\n<word)\n"}`: false, `"asiBacktraces" : ["\n<word>\n"]`: true,
		"f(int&, int);word": false, "&lt;word>": true, "&#60;word&gt;": true, "&lt;word&gt": false, "(&lt;word>": false, "a&#10;&lt;word&gt;&#10;b": true,
		"\x1b[1m&amp;word":        true,
		"\x1b[1m" + long + "word": true, long + "word": false,
	} {
		if got := s.Next([]byte(line+"\nword\n"), 0) >= 0; got != want {
			t.Errorf("%.40q: %v, want %v", line, got, want)
		}
	}
}

// TestHides holds that a line of a document is found for the literals that its references hide, and for no others.
func TestHides(t *testing.T) {
	s := NewScan([]Literal{{Text: "a<b", When: Always}, {Text: "word", When: Always, Fits: func(line []byte, at int) bool { return at == 0 }},
		{Text: "&lt;", When: Document, Hides: true}, {Text: "&gt;", When: Document, Hides: true}, {Text: "&amp;", When: Document, Hides: true}, {Text: "&#", When: Document, Hides: true}}, Always|Document)
	for line, want := range map[string]bool{
		"a&lt;b": true, "a&lt;c": false, "x &gt; y": false, "x a&#60;b &gt; y": true, "&#119;ord": true, "-&#119;ord": false, "&amp;amp; a&amp;lt;b": false, "-&#10;&#119;ord": true,
		"&gt;\x1b[1m": true, "&gt;" + string(bytes.Repeat([]byte{'x'}, maxPlain)): true, "&gt;&gt;&gt;&gt;&gt;&gt;&gt;&gt;&gt;&gt;&gt;&gt;": false, "&#": false,
	} {
		b := []byte("plain &gt; line\n" + line + "\n&gt;\n")
		if at := s.Next(b, 0); (at >= 0) != want || want && string(b[lineStart(b, at):][:len(line)]) != line {
			t.Errorf("%.40q: found at %d", line, at)
		}
	}
}

// TestBegins holds that a text which ends before the byte that a literal needs may have begun something.
func TestBegins(t *testing.T) {
	s := NewScan([]Literal{{Text: "#", After: Digit, When: Always}, {Text: "+0x", After: Hex, When: Always}, {Text: "shard ", When: Always}}, Always)
	for text, want := range map[string]bool{"": false, "root #": false, "bin/a(+0x": true, "bin/a(+0": false, "bin/a(+0x1": false, "shard ": false} {
		if got := s.Begins([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestWords holds that each reader is told of its own words only.
func TestWords(t *testing.T) {
	old := subscribed
	search := func() { words = sync.OnceValue(func() *Lines { return NewLines(math.MaxInt, subscribed...) }) }
	defer search()
	defer func() { subscribed = old }()
	one, two := Subscribe("=first=", "=second="), Subscribe("=third=")
	search()
	for line, want := range map[string]Words{"": 0, "=firs=": 0, "a =second= b": one, "=third=": two, "=third==first=": one | two} {
		if got := Look([]byte(line)); got != want || got.Any(one) != (want&one != 0) {
			t.Errorf("%q: %b, want %b", line, got, want)
		}
	}
}

// TestLines holds that each line with a word is found once, with its number and place, whatever ends it, but for those that are too long.
func TestLines(t *testing.T) {
	pieces := []string{"first", "second", "fir", "second", " text ", "\r", "\n", "\r\n", "\n\n", "a longer piece of a line that holds nothing of that "}
	l := NewLines(60, []string{"first"}, []string{"second", "third"})
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		var b []byte
		for range rng.IntN(30) {
			b = append(b, pieces[rng.IntN(len(pieces))]...)
		}
		var want []string
		begin := 0
		for i, line := range bytes.SplitAfter(b, []byte("\n")) {
			text := bytes.TrimSuffix(line, []byte("\n"))
			if len(text) <= 60 && (bytes.Contains(text, []byte("first")) || bytes.Contains(text, []byte("second"))) {
				want = append(want, fmt.Sprintf("%d %d %q", 7+i, begin, bytes.TrimRight(text, "\r")))
			}
			begin += len(line)
		}
		var got []string
		for line := range l.In(7, b) {
			got = append(got, fmt.Sprintf("%d %d %q", line.Number, line.Begin, line.Text))
			if l.Look(line.Text) == 0 {
				t.Errorf("%q means something to nobody", line.Text)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q:\n%q\n%q", b, got, want)
		}
	}
}

// TestPlaces holds that all places of a text are found.
func TestPlaces(t *testing.T) {
	s := NewScan([]Literal{{Text: "#", When: Always}, {Text: "0x", When: Always}, {Text: "aba", When: Always}}, Always)
	var p Places
	for range 2 { // the second time into the same places
		s.Find([]byte("ababa 0x0x # ##0x"), &p)
		if got := fmt.Sprint(p.of); got != "[[11 13 14] [6 8 15] [0 2]]" {
			t.Error(got)
		}
		if p.Next(0, 12) != 13 || p.Next(0, 15) != -1 || p.Last(2, 2) != 0 || p.Last(2, 0) != -1 {
			t.Error("wrong neighbors")
		}
		s.Find([]byte("none"), &p)
		if p.Next(1, 0) != -1 || p.Last(1, 9) != -1 {
			t.Error("places of another line")
		}
	}
}

func BenchmarkNext(b *testing.B) {
	line := "2026-11-21 10:11:12.123 host service[1234]: GET /index.html status=200 size=5120 took 12ms agent=Mozilla/5.0\n"
	text := bytes.Repeat([]byte(line), 1<<20/len(line))
	s := NewScan(literals, Always)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s.Next(text, 0) >= 0 {
			b.Fatal("found a literal in ordinary text")
		}
	}
}
