package filter

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// nextNaive is the oracle: the first place at which any anchor's pair stands within its whole text.
func nextNaive(s *anchorScan, b []byte, from int) int {
	for i := from; i+1 < len(b); i++ {
		for k := range anchors {
			a := &anchors[k]
			if a.when&s.when == 0 {
				continue
			}
			if a.text == "#0" && b[i] == '#' && b[i+1] >= '0' && b[i+1] <= '9' {
				return i
			}
			if a.text != "#0" && i >= a.pair && bytes.HasPrefix(b[i-a.pair:], []byte(a.text)) {
				return i
			}
		}
	}
	return -1
}

func TestAnchorNext(t *testing.T) {
	pieces := []string{"{{{", "<<<", "+0x", "Sanitizer", "runtime error:", "offset=0x", "#7", "\x1b[", "{", "<", "+0", "Sa",
		"r:", "=0", "#", "*** ***", "**", "==Process memory map", "+ 0x", "+ ", "Backtrace:", "Ba", " pc ", "pc", "0x", "r-x", "build-id", "[0x", "[0", "[unknown] (", "n]", "-x", "\n", "some ordinary text ", "\xff\x00\x8b", "{{", "error: x"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, set := range []anchorSet{always, asLLVM, always | absolute, always | renumbering, always | colouring, always | renumbering | colouring} {
		s := newAnchorScan(set)
		for range 2000 {
			var b []byte
			for range rng.IntN(40) {
				b = append(b, pieces[rng.IntN(len(pieces))]...)
			}
			for from := 0; from <= len(b); from += 1 + rng.IntN(8) {
				if got, want := s.next(b, from), nextNaive(s, b, from); got != want {
					t.Fatalf("set %b: next(%q, %d) = %d, want %d", set, b, from, got, want)
				}
				if got, want := findPairPortable(b[from:], s), findPair(b[from:], s); got != want {
					t.Fatalf("set %b: portable search of %q finds %d, the machine's %d", set, b[from:], got, want)
				}
			}
		}
	}
}

func BenchmarkAnchorNext(b *testing.B) {
	line := "2026-11-21 10:11:12.123 host service[1234]: GET /index.html status=200 size=5120 took 12ms agent=Mozilla/5.0\n"
	text := bytes.Repeat([]byte(line), 1<<20/len(line))
	s := newAnchorScan(always)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s.next(text, 0) >= 0 {
			b.Fatal("found an anchor in ordinary text")
		}
	}
}
