package frame

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// looked returns how many bytes the readers looked at for a line, and whether that was too much.
func looked(line []byte) (n int, spent bool) {
	var s Search
	s.Reset(line)
	budget := s.left
	for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
	}
	return budget - s.left, s.Spent()
}

// TestLook holds that what logs hold takes a small part of what may be looked at, and that no line takes much more than all of it:
// the last reader ends at the next thing that it counts.
func TestLook(t *testing.T) {
	most := 0.0
	for _, line := range samples(t) {
		n, spent := looked(line)
		if share := float64(n) / float64(leastLook+lookPerByte*len(line)); spent || share > 0.2 {
			t.Errorf("%.3f of the budget for %q", share, line)
		} else {
			most = max(most, share)
		}
	}
	t.Logf("at most %.3f of the budget for the line of a log", most)
}

// TestHostileLines holds the work for lines of what is almost a frame to the budget: pieces of samples and of formats, repeated.
func TestHostileLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := samples(t)
	worst := 0
	for range 1000 {
		var unit []byte
		for range 1 + r.IntN(3) {
			if r.IntN(2) == 0 {
				unit = append(unit, longPieces[r.IntN(len(longPieces))]...)
				continue
			}
			line := lines[r.IntN(len(lines))]
			at := r.IntN(len(line))
			unit = append(unit, line[at:at+r.IntN(min(40, len(line)-at))+1]...)
		}
		for _, size := range []int{4 << 10, 32 << 10} {
			line := bytes.Repeat(unit, size/len(unit))
			n, _ := looked(line)
			budget := leastLook + lookPerByte*len(line)
			if n > budget+4*maxModule {
				t.Fatalf("%d bytes looked at of a budget of %d: %q", n, budget, unit)
			}
			if n > budget {
				worst++
			}
		}
	}
	t.Logf("%d of 2000 lines passed as they came", worst)
}

// TestAskedColons holds that what a server was asked for ends at a space, and that the places that are looked for in it count.
func TestAskedColons(t *testing.T) {
	for line, want := range map[string]int{"js?v=1:2:3)": 1, "js?7:7 js?7:7 js?7:7 ": 1, "js?a:b:7:7\tjs?7:7": 2} {
		if _, tried, _ := endOfAsked([]byte(line), 0); tried != want {
			t.Errorf("%d colons of %q were tried, not %d", tried, line, want)
		}
	}
	if _, spent := looked(bytes.Repeat([]byte("js?7:7x"), 1<<10)); !spent {
		t.Error("as many places were looked for as the line has colons, for each of its scripts")
	}
}

// TestNoMapping holds that the words before a mapping of a fault are not tried one after the other where no mapping follows any of them.
func TestNoMapping(t *testing.T) {
	for _, text := range []string{"epc = 77f4a3c4 in ", "segfault at 0 ip 77f4a3c4 in "} {
		const times = 100
		if n, _ := looked(bytes.Repeat([]byte(text), times)); n > times*(maxFault>>4+4) {
			t.Errorf("%d bytes were looked at for each %q", n/times, text)
		}
	}
}

// TestNoDigit holds that no format is asked about a prefix of numbers without a number.
func TestNoDigit(t *testing.T) {
	asked := 0
	table, err := NewTable(Format{Name: "a", Mark: "+ 0x", Literals: stopAt(plusSpaceHex), Sample: "+ 0x1", Read: func(*Search, []byte, int, int, *Frame) bool { asked++; return false }})
	if err != nil {
		t.Fatal(err)
	}
	s := table.Search()
	for line, want := range map[string]int{"+ 0x+ 0x+ 0x": 0, "a + 0x1 + 0xg + 0x": 1} {
		asked = 0
		if s.Reset([]byte(line)); s.Next(0) != nil || asked != want {
			t.Errorf("%q: asked %d times, not %d", line, asked, want)
		}
	}
}

// TestObjectsStay holds that an object of JSON which is looked at needs no memory of its own.
func TestObjectsStay(t *testing.T) {
	line := bytes.Repeat([]byte(`{"machoUUID":"7","frameAddress":"x"} `), 20)
	var s Search
	if n := testing.AllocsPerRun(20, func() { s.Reset(line); s.Next(0) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}
