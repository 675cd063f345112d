package linecache

import (
	"bytes"
	"fmt"
	"testing"
)

// TestOutputsTakeAll shows that lines that come over and over are found from their third time on, even if there are as many as a log of
// many processes has, and that no line has the output of another.
func TestOutputsTakeAll(t *testing.T) {
	output := func(i int, line []byte) []byte {
		if i%3 == 0 {
			return fmt.Appendf(nil, " in f%d%s", i, line) // most outputs end in the line
		}
		return fmt.Appendf(nil, "function %d\n", i)
	}
	for _, lines := range []int{1, 60, 500, 2000, 5000} {
		var s Outputs[int]
		s.Init()
		misses := 0
		for round := range 20 {
			for i := range lines {
				line := fmt.Appendf(nil, " (/usr/lib/libfoo.so+0x%x)\n", i)
				if e := s.Find(line, 7); e != nil {
					if want := output(i, line); !bytes.Equal(e.Text(), want) || e.By != i {
						t.Fatalf("%q became %q, by %d", line, e.Text(), e.By)
					}
					continue
				}
				if round >= 5 {
					misses++
				}
				if slot, again := s.Slot(line, 7); again {
					s.Keep(slot, line, output(i, line), 7, i)
				}
			}
		}
		if misses > 15*lines/20 {
			t.Errorf("%d lines, 15 times each: %d not found", lines, misses)
		}
	}
}

// TestOutputsOfGenerations shows that a line of another generation is not found, and that the entry of a line whose output has changed is
// replaced.
func TestOutputsOfGenerations(t *testing.T) {
	var s Outputs[struct{}]
	s.Init()
	line := []byte("{{{bt:0:0x1000}}}\n")
	keep := func(generation uint64, output string) {
		for {
			slot, again := s.Slot(line, generation)
			if again {
				s.Keep(slot, line, []byte(output), generation, struct{}{})
				return
			}
		}
	}
	keep(1, "old\n")
	if s.Find(line, 2) != nil {
		t.Error("found in another generation")
	}
	keep(1, "new\n")
	if e := s.Find(line, 1); e == nil || string(e.Text()) != "new\n" || s.Len() != 1 {
		t.Errorf("%v, %d entries", e, s.Len())
	}
}

// TestOutputsAreBounded shows that lines that come twice and no more do not take more and more memory.
func TestOutputsAreBounded(t *testing.T) {
	var s Outputs[[20]uint64]
	s.Init()
	output := bytes.Repeat([]byte("x"), MaxText)
	for i := range 100_000 {
		line := fmt.Appendf(nil, "{{{bt:0:0x%x}}}\n", i)
		for range 2 {
			if slot, again := s.Slot(line, 1); again {
				s.Keep(slot, line, output, 1, [20]uint64{})
			}
		}
	}
	if got := s.Footprint(); got > mostBytes+16<<20 {
		t.Errorf("%d bytes", got)
	}
}
