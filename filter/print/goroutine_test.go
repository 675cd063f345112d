package print

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestGoLines compares the readers of a traceback's lines with expressions that say the same.
func TestGoLines(t *testing.T) {
	function := regexp.MustCompile(`^(panic|[^\s()]+\.(?:[^\s()]|\(\*?[^\s()]+\))+)\((?:\.\.\.|[^()]*)\)$`)
	created := regexp.MustCompile(`^created by ([^\s()]+\.(?:[^\s()]|\(\*?[^\s()]+\))+)(?: in goroutine \d+)?$`)
	place := regexp.MustCompile(`^(?:\t| {2,8})?(\S.*?):(\d+)(?: \+0x[0-9a-f]+)?(?: fp=0x[0-9a-f]+ sp=0x[0-9a-f]+ pc=0x[0-9a-f]+)?$`)
	parts := strings.Split("main|.|(*T)|(|)|(*|*|f|g[...]|...|0x1f, {0x2}|panic|created by |net/http| in goroutine |12|\t|   | |/src/m.go|:|:7| +0x1f| fp=0x1| sp=0x2| pc=0x3|3|é\xff|+0x", "|")
	rng := rand.New(rand.NewPCG(1, 2))
	matched := [3]int{}
	for range 100_000 {
		line := ""
		switch rng.IntN(4) {
		case 0:
			line = "created by main.f"
		case 1:
			line = "\t/src/m.go:7"
		case 2:
			line = "main."
		}
		for range 1 + rng.IntN(6) {
			line += parts[rng.IntN(len(parts))]
		}
		text := []byte(line)
		file, number := goPlace(text)
		for i, c := range []struct {
			got  [][]byte
			form *regexp.Regexp
		}{{[][]byte{goFunction(text)}, function}, {[][]byte{goCreator(text)}, created}, {[][]byte{file, number}, place}} {
			want := c.form.FindSubmatch(text)
			if want == nil {
				want = make([][]byte, 1+len(c.got))
			} else {
				matched[i]++
			}
			for k, got := range c.got {
				if !bytes.Equal(got, want[1+k]) || (got == nil) != (want[1+k] == nil) {
					t.Fatalf("%q: %q, want %q by %v", line, got, want[1+k], c.form)
				}
			}
		}
	}
	for i, n := range matched {
		if n < 100 {
			t.Errorf("form %d: only %d lines have it", i, n)
		}
	}
}
