package stream

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"qss-filter/filter/scan"
)

// literals are of each kind: with pairs inside, shared sets, any number, and states in which they do not count.
var literals = []scan.Literal{
	{Text: "{{{", When: scan.Always},
	{Text: "*** ***", When: scan.Always},
	{Text: "<<<", Set: 1, When: scan.Always},
	{Text: "offset=0x", Pair: 6, Set: 1, When: scan.Always},
	{Text: "==Process memory map", Set: 1, When: scan.Always},
	{Text: "[0x", Set: 1, When: scan.Always},
	{Text: "+0x", Set: 2, When: scan.Always},
	{Text: "+ 0x", Set: 2, When: scan.Always},
	{Text: "Sanitizer", Set: 3, When: scan.Always},
	{Text: "Backtrace:", Set: 3, When: scan.Always},
	{Text: "runtime error:", Pair: 9, Set: 4, When: scan.Always},
	{Text: "[unknown] (", Pair: 7, Set: 4, When: scan.Always},
	{Text: " pc ", Pair: 1, Set: 5, When: scan.Always},
	{Text: "0x", Set: 5, When: scan.Absolute},
	{Text: "<signal handler called>", Set: 6, When: scan.Absolute},
	{Text: scan.AnyNumber, Set: 6, When: scan.Renumbering},
	{Text: "\x1b[", Set: 7, When: scan.Coloring},
	{Text: "r-x", Pair: 1, Set: 7, When: scan.Always},
	{Text: "build-id", Pair: 5, Set: 7, When: scan.Always},
}

// nextNaive is the oracle: the first place at which any literal's pair stands within its whole text.
func nextNaive(when scan.When, b []byte, from int) int {
	for i := from; i+1 < len(b); i++ {
		for k := range literals {
			a := &literals[k]
			if a.When&when == 0 {
				continue
			}
			if a.Text == "#0" && b[i] == '#' && b[i+1] >= '0' && b[i+1] <= '9' {
				return i
			}
			if a.Text != "#0" && i >= a.Pair && bytes.HasPrefix(b[i-a.Pair:], []byte(a.Text)) {
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
	for _, set := range []scan.When{scan.Always, scan.Always | scan.Absolute, scan.Always | scan.Renumbering, scan.Always | scan.Coloring, scan.Renumbering | scan.Coloring} {
		s := NewScan(literals, set)
		for range 2000 {
			var b []byte
			for range rng.IntN(40) {
				b = append(b, pieces[rng.IntN(len(pieces))]...)
			}
			for from := 0; from <= len(b); from += 1 + rng.IntN(8) {
				if got, want := s.Next(b, from), nextNaive(set, b, from); got != want {
					t.Fatalf("set %b: Next(%q, %d) = %d, want %d", set, b, from, got, want)
				}
				if got, want := findPairPortable(b[from:], s), findPair(b[from:], s); got != want {
					t.Fatalf("set %b: portable search of %q finds %d, the machine's %d", set, b[from:], got, want)
				}
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	line := "2026-11-21 10:11:12.123 host service[1234]: GET /index.html status=200 size=5120 took 12ms agent=Mozilla/5.0\n"
	text := bytes.Repeat([]byte(line), 1<<20/len(line))
	s := NewScan(literals, scan.Always)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s.Next(text, 0) >= 0 {
			b.Fatal("found a literal in ordinary text")
		}
	}
}
