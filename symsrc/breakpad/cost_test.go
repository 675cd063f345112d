package breakpad

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"qss-filter/symsrc/budget"
)

// uncounted is the number of steps of a lookup that are not counted (budget.Query).
const uncounted = 256 << 10

const head = "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 a\n"

// TestCost repeats expensive lookups until they exceed the budget of the file. read is the number of bytes that one lookup reads.
func TestCost(t *testing.T) {
	lines := head + "FILE 0 x.c\nFUNC 0 1000000 0 f\n" + strings.Repeat("900000 1 1 0\n", 1<<18)
	without := lines + "100 10 0 0\n"
	inlines := head + "INLINE_ORIGIN 0 i\nFUNC 0 1000000 0 f\n" + strings.Repeat("INLINE 0 1 0 0 900000 1\n", 1<<17)
	ranges := head + "INLINE_ORIGIN 0 i\nFUNC 0 1000000 0 f\nINLINE 0 1 0 0" + strings.Repeat(" 900000 1", 1<<18) + "\n"
	for name, c := range map[string]struct {
		text string
		read int
	}{"lines": {lines, len(lines)}, "a line 0": {without, 2 * len(without)}, "calls": {inlines, len(inlines)}, "ranges": {ranges, len(ranges)},
		"a name":          {head + "FUNC 0 1000000 0 " + strings.Repeat("n", 1<<21) + "\n", 1 << 21},
		"a line too long": {head + "FUNC 0 1000000 0 f\nINLINE 0 1 0 0" + strings.Repeat(" 900000 1", maxFunction/8) + "\n", maxFunction}} {
		t.Run(name, func(t *testing.T) {
			f, err := New([]byte(c.text), room)
			if err != nil {
				t.Fatal(err)
			}
			const steps = 1 << 26
			f.work = budget.Steps(steps)
			most := steps/(stepsPerByte*c.read-uncounted) + 1
			lookups := 0
			for ; lookups <= most; lookups++ {
				if _, err = f.Frames(0x100); err != nil {
					break
				}
			}
			if !errors.Is(err, budget.ErrExceeded) || lookups < steps/(stepsPerByte*c.read)-1 {
				t.Errorf("after %d lookups: %v", lookups, err)
			}
			if _, err := f.Frames(0x101); !errors.Is(err, budget.ErrExceeded) {
				t.Errorf("one more lookup: %v", err)
			}
		})
	}
	t.Run("names", func(t *testing.T) {
		f, err := New([]byte(head+"FUNC 0 10 0 "+strings.Repeat("n", 1<<24)+"\nPUBLIC 20 0 "+strings.Repeat("n", 1<<24)+"\n"), room)
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range []uint64{1, 0x20} {
			if frames, err := f.Frames(addr); err == nil && len(frames) > 0 && frames[0].Func != "" {
				t.Errorf("a name of %d bytes was accepted", len(frames[0].Func))
			}
		}
		for _, list := range [][]record{f.funcs, f.publics} {
			if x := f.fields(&list[0]); len(x.rest()) > 2*maxName {
				t.Errorf("%d bytes of a name were read", len(x.rest()))
			}
		}
	})
	t.Run("a real file", func(t *testing.T) {
		f, err := New([]byte(sample), room)
		if err != nil {
			t.Fatal(err)
		}
		for range 100000 {
			if _, err := f.Frames(0x1020); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLongAnswer nests calls of functions with long names.
func TestLongAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		length, depth int
		want          error
	}{"short": {1000, 60, nil}, "deep": {1000, 70, budget.ErrTooLong}, "long": {60000, 1, nil}, "both": {60000, 900, budget.ErrTooLong}} {
		text := head + "INLINE_ORIGIN 0 " + strings.Repeat("n", c.length) + "\nFUNC 0 10 0 f\n"
		for d := range c.depth {
			text += fmt.Sprintf("INLINE %d 1 0 0 0 10\n", d)
		}
		f, err := New([]byte(text), room)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := f.Frames(1)
		if !errors.Is(err, c.want) || (len(frames) == c.depth+1) != (c.want == nil) {
			t.Errorf("%s: %d frames, %v", name, len(frames), err)
		}
	}
}

// TestKept checks the limit on the memory of the index, and the result of Held.
func TestKept(t *testing.T) {
	for _, record := range []string{"FUNC 1 1 0 a\n", "PUBLIC 1 0 a\n", "FILE 1 a\n", "INLINE_ORIGIN 1 a\n", "STACK CFI INIT 1 1 a\n"} {
		for _, c := range []struct {
			room int64
			want error
		}{{1000 * 32, nil}, {1000 * 15, budget.ErrExceeded}} {
			f, err := New([]byte(head+strings.Repeat(record, 1000)), c.room)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = f.Frames(5); !errors.Is(err, c.want) {
				t.Errorf("%q with room for %d: %v", record, c.room, err)
			}
			if held := f.Held(); held > c.room || c.want == nil && held < 8*1000 {
				t.Errorf("%q: %d bytes are held", record, held)
			}
		}
	}
}
