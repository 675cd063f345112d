package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
)

// TestFaultsOfLine holds that of a line's malformed elements a few are explained and all stay as they are.
func TestFaultsOfLine(t *testing.T) {
	for _, unit := range []string{"{{{bt:x%d:0x1}}}", "{{{pc:%d}}}", "a {{{module:0:%d}}}", "a {{{mmap:%d}}} ", "a {{{data:0x%dx}}}", "{{{symbol}}}{{{dumpfile:%d}}}"} {
		var line strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&line, unit, i+2)
		}
		line.WriteByte('\n')
		told := 0
		o := filter.Options{Warn: func(string) { told++ }}
		if got := feed(o, line.String()); got != line.String() || told == 0 || told > 16 {
			t.Errorf("%s: %d messages, the line is the same: %v", unit, told, got == line.String())
		}
		told = 0
		o.JSON = &jsonl.Options{}
		if n := strings.Count(feed(o, line.String()), `"type":"malformed"`); n == 0 || n > 16 || told > 16 {
			t.Errorf("%s: %d elements and %d messages in JSON", unit, n, told)
		}
		told = 0
		if feed(filter.Options{Warn: func(string) { told++ }}, strings.Repeat("{{{bt:y:0x1}}}\n", 3)+line.String()); told < 2 {
			t.Errorf("%s: %d messages for two lines", unit, told)
		}
	}
}

// TestMangledOfLine holds that long names are made readable up to a number of bytes in a line, and short ones always.
func TestMangledOfLine(t *testing.T) {
	long := "_Z1f" + strings.Repeat("i", 1000)
	told := 0
	got := feed(filter.Options{Warn: func(string) { told++ }}, strings.Repeat("{{{symbol:"+long+"}}}", 100)+"{{{symbol:_Z1fv}}}\n"+"{{{symbol:"+long+"}}}\n")
	if n := strings.Count(got, "f(int"); n != (32<<10)/len(long)+1 || !strings.Contains(got, "f()") || told != 1 {
		t.Errorf("%d names are readable, %d messages", n, told)
	}
}

// TestSearchOfLine holds that a line of what is almost a frame passes as it came, of which is told once.
func TestSearchOfLine(t *testing.T) {
	told := 0
	line := strings.Repeat("] + 0x1", 100000) + "\n"
	if got := feed(filter.Options{Warn: func(string) { told++ }}, line+line); got != line+line || told != 1 {
		t.Errorf("%d messages, same %v", told, got == line+line)
	}
}
