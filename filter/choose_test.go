package filter_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/match"
)

var chooseOver = flag.String("choose", "", "a pattern of logs: choose over them which bytes of the literals are searched for, and write match/places.go")

// TestChosen holds that each literal has a place of its own in the search: where some are missing, `go test ./filter -run Chosen -choose
// 'logs/*'` adds them, and where none is, it chooses all anew, so that the search stops seldom in these logs.
func TestChosen(t *testing.T) {
	if *chooseOver != "" {
		choose(t, *chooseOver)
		return // the places that were written count from the next build on
	}
	for _, l := range filter.Literals {
		if _, _, ok := l.Placed(); !ok {
			t.Errorf("no place is chosen for %q", l.Text)
		}
	}
}

// quad is four bytes of a log, and how often they stand there.
type quad struct {
	bytes [match.Width]byte
	often float64
}

// quads returns the four bytes at all places of logs, each log with the same weight, of a KiB in all.
func quads(t *testing.T, pattern string) (all []quad) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal(pattern, err)
	}
	counts := map[[match.Width]byte]float64{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(b) - match.Width + 1 {
			counts[[match.Width]byte(b[i:])] += 1024 / float64(len(b)) / float64(len(paths))
		}
	}
	for bytes, often := range counts {
		all = append(all, quad{bytes, often})
	}
	return all
}

// halves are the low and the high halves of the bytes that a set has at each place, as bits.
type halves [match.Width][2]uint16

func (h *halves) with(l *match.Literal, at int) halves {
	g := *h
	for pos := range g {
		for _, c := range l.Bytes(at + pos) {
			g[pos][0] |= 1 << (c & 15)
			g[pos][1] |= 1 << (c >> 4)
		}
	}
	return g
}

// stops returns how often a search for a set stops.
func (h *halves) stops(all []quad) (n float64) {
	for i := range all {
		q := &all[i]
		in := uint16(1)
		for pos, c := range q.bytes {
			in &= h[pos][0] >> (c & 15) & (h[pos][1] >> (c >> 4))
		}
		if in != 0 {
			n += q.often
		}
	}
	return n
}

// member is a literal of a set.
type member struct {
	l   *match.Literal
	at  int
	set int
	// kept is set for one that stays where it is.
	kept bool
}

// weight is how much more a stop counts that comes in every state, and traced how much more one that comes once there are frames of Java.
const weight, traced = 10, 4

// left is how much more a stop counts at the four bytes of a literal: the search leaves its loop there.
const left = 4

// tracing are the states of a reader that has seen frames of Java.
const tracing = match.Always | match.Seeking | match.Retracing

// tally is what the sets of a search hold, and how often it stops for each.
type tally struct {
	sets  [match.Sets]halves
	stops [match.Sets]float64
}

// choose puts each literal, the shortest first, where it adds the fewest stops, and each again after the others are known, and writes the
// places.
func choose(t *testing.T, pattern string) {
	all := quads(t, pattern)
	var members []*member
	missing := 0
	for i := range filter.Literals {
		m := &member{l: &filter.Literals[i], set: -1}
		if at, set, ok := m.l.Placed(); ok {
			m.at, m.set, m.kept = at, set, true
		} else {
			missing++
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(len(a.l.Text), len(b.l.Text)), cmp.Compare(a.l.Text, b.l.Text))
	})
	var always, java, any tally
	for _, m := range members {
		if m.kept = m.kept && missing > 0; !m.kept {
			m.set = -1
		}
	}
	for set := range match.Sets {
		always.rebuild(set, members, all, match.Always)
		java.rebuild(set, members, all, tracing)
		any.rebuild(set, members, all, ^match.When(0))
	}
	place := func(m *member) {
		counts := m.l.When&match.Always != 0
		if from := m.set; from >= 0 {
			m.set = -1
			always.rebuild(from, members, all, match.Always)
			java.rebuild(from, members, all, tracing)
			any.rebuild(from, members, all, ^match.When(0))
		}
		least := 1e9
		for at := 0; at == 0 || at+match.Width <= len(m.l.Text); at++ {
			own := ownStops(m.l, at, all)
			for k := range match.Sets {
				more := any.more(k, m.l, at, all)
				if m.l.When&tracing != 0 && more < least {
					more += traced * (java.more(k, m.l, at, all) + left*own)
				}
				if counts && more < least {
					more += weight * (always.more(k, m.l, at, all) + left*own)
				}
				if more < least-1e-9 {
					least, m.set, m.at = more, k, at
				}
			}
		}
		always.rebuild(m.set, members, all, match.Always)
		java.rebuild(m.set, members, all, tracing)
		any.rebuild(m.set, members, all, ^match.When(0))
	}
	for range 4 {
		for _, m := range members {
			if !m.kept {
				place(m)
			}
		}
		t.Logf("stops in each KiB: always %.3f, in any state %.3f", sum(always.stops[:]), sum(any.stops[:]))
	}
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.l.Text, b.l.Text) })
	var out bytes.Buffer
	fmt.Fprint(&out, "package match\n\n// places are where the bytes of each literal stand that are searched for, and the sets that they are in. They are written by a test of\n// package filter, which chooses them over logs.\nvar places = map[string]place{\n")
	for _, m := range members {
		fmt.Fprintf(&out, "\t%q: {%d, %d},\n", m.l.Text, m.at, m.set)
	}
	fmt.Fprint(&out, "}\n")
	text, err := format.Source(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("match/places.go", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// more returns how many stops a literal adds to a set.
func (t *tally) more(set int, l *match.Literal, at int, all []quad) float64 {
	g := t.sets[set].with(l, at)
	return g.stops(all) - t.stops[set]
}

// ownStops returns how often the bytes that a literal is searched for by stand in the logs.
func ownStops(l *match.Literal, at int, all []quad) (n float64) {
	for i := range all {
		q, is := &all[i], true
		for pos, c := range q.bytes {
			is = is && bytes.IndexByte(l.Bytes(at+pos), c) >= 0
		}
		if is {
			n += q.often
		}
	}
	return n
}

// rebuild counts a set again.
func (t *tally) rebuild(set int, members []*member, all []quad, when match.When) {
	t.sets[set] = halves{}
	for _, m := range members {
		if m.set == set && m.l.When&when != 0 {
			t.sets[set] = t.sets[set].with(m.l, m.at)
		}
	}
	t.stops[set] = t.sets[set].stops(all)
}

func sum(of []float64) (n float64) {
	for _, f := range of {
		n += f
	}
	return n
}
