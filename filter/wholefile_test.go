package filter_test

import (
	"io"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestListsMappings finds a mapping anywhere in a file, also after a line that is too long, and nothing in other text.
func TestListsMappings(t *testing.T) {
	const mapping = "55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /bin/x\n"
	long := strings.Repeat("x", 600<<10) + "\n"
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "", false},
		{"first", mapping + long, true},
		{"last, without an end", "a\nb\n" + strings.TrimSuffix(mapping, "\n"), true},
		{"other text", strings.Repeat("-rwxr-xr-x 1 root root 12 /bin/sh\n", 20_000), false},
		{"images of Swift, in color, after a prefix", "a: \x1b[32m0x1000–0x2000\x1b[39m \x1b[37m37c6\x1b[39m \x1b[36ma\x1b[39m  /b/a\n", true},
		{"other ranges", "0x1000–0x2000 bytes\n–0x\n\x1b[–0x12m\n", false},
		{"after a long line", long + mapping, true},
		{"in many lines", strings.Repeat("a line of a log\n", 100_000) + mapping + long, true},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.text), io.MultiReader(strings.NewReader(c.text[:len(c.text)/2]), strings.NewReader(c.text[len(c.text)/2:]))} {
			if got := filter.ListsMappings(in); got != c.want {
				t.Errorf("%s: %v", c.name, got)
			}
		}
	}
}
