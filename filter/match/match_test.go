package match

import (
	"bytes"
	"math/rand/v2"
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
		for _, of := range s.sets {
			for k := range of {
				l, at := of[k].literal, i-of[k].at
				if l.When&when == 0 || at < 0 || !bytes.HasPrefix(b[at:], []byte(l.Text)) {
					continue
				}
				rest := b[at+len(l.Text):]
				if l.After == Any || len(rest) > 0 && bytes.IndexByte([]byte("0123456789abcdefABCDEF")[:map[Class]int{Digit: 10, Hex: 22}[l.After]], rest[0]) >= 0 {
					return i
				}
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
