package parse_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"qss-filter/filter/parse"
)

// TestFound holds that a parser finds in a text that comes again what one finds that has seen no other, in any order, and with the program's
// words behind a prefix or not.
func TestFound(t *testing.T) {
	file, err := os.ReadFile("../frame/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(file), "\n")
	lines = append(lines, strings.Repeat("#0 0x7f20 (/lib/a.so+0x20) ", 5), strings.Repeat("#0 0x7f20 (/lib/a.so+0x20) ", 40), "", "\x1b[1m#0 0x7f20 (/lib/a.so+0x20)\x1b[0m")
	r := rand.New(rand.NewPCG(1, 2))
	var again parse.Parser
	found := 0
	for range 20 * len(lines) {
		// A few come often, and all of them some time.
		line := lines[r.IntN(1+r.IntN(len(lines)))]
		s := parse.Segment{Text: []byte("I/x(7): " + line), Start: r.IntN(2) * len("I/x(7): "), End: len("I/x(7): " + line)}
		absolutes := r.IntN(2) == 0
		var fresh parse.Parser
		want := fresh.ReadFrames(s, true, absolutes)
		got := again.ReadFrames(s, true, absolutes)
		if got != want || len(again.Frames) != len(fresh.Frames) || len(again.Frames) > 0 && !reflect.DeepEqual(again.Frames, fresh.Frames) {
			t.Fatalf("%q from %d on: got %v %+v, want %v %+v", line, s.Start, got, again.Frames, want, fresh.Frames)
		}
		found += len(again.Frames)
	}
	if found < 1000 {
		t.Errorf("only %d frames", found)
	}
	if n := again.Footprint(); n < 1<<16 || n > 8<<20 {
		t.Errorf("the parser takes %d bytes", n)
	}
}

// TestFoundCost holds that a text which comes again costs no memory, and texts of many frames take none for long.
func TestFoundCost(t *testing.T) {
	var p parse.Parser
	text := func(i, frames int) parse.Segment {
		line := []byte(strings.Repeat(fmt.Sprintf("#%d 0x7f20 (/lib/a.so+0x20) ", i), frames))
		return parse.Segment{Text: line, End: len(line)}
	}
	for i := range 5000 {
		p.ReadFrames(text(i, 1+i%16), false, false)
	}
	if n := p.Footprint(); n > 8<<20 {
		t.Errorf("the parser takes %d bytes", n)
	}
	s := text(0, 2)
	if allocated := testing.AllocsPerRun(10, func() { p.ReadFrames(s, false, false) }); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
}

// TestManyFrames holds that one text of many frames after the other costs no memory, and that it is given back when such texts end.
func TestManyFrames(t *testing.T) {
	var p parse.Parser
	text := func(i, frames int) parse.Segment {
		line := []byte(strings.Repeat(fmt.Sprintf("f+0x%x/0x3000 [m] ", i), frames) + strings.Repeat("word ", 200))
		return parse.Segment{Text: line, End: len(line)}
	}
	many := [...]parse.Segment{text(1, 20000), text(2, 20000)}
	i := 0
	if allocated := testing.AllocsPerRun(10, func() {
		p.ReadFrames(many[i%2], false, false)
		i++
	}); allocated > 0 {
		t.Errorf("%v times memory", allocated)
	}
	if n := len(p.Frames); n != 20000 {
		t.Fatal(n, "frames")
	}
	for i := range 2 {
		p.ReadFrames(text(i, 300), false, false)
	}
	if n := p.Footprint(); n > 1<<20 {
		t.Errorf("the parser takes %d bytes", n)
	}
}
