package filter_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// nothing is a source that knows nothing.
type nothing struct{}

func (nothing) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}}
}

// TestExplainedTwice holds that a log which was filtered before has the reasons that it had then, whatever the formats of its frames: none
// reads one as part of a path.
func TestExplainedTwice(t *testing.T) {
	samples, err := os.ReadFile("frame/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(samples) {
		text, is := bytes.CutPrefix(line, []byte("|"))
		if !is {
			continue
		}
		once := runAll(t, filter.Options{Symbols: nothing{}, Explain: true}, bytes.NewReader(text))
		if once != string(text) {
			n++
		}
		if twice := runAll(t, filter.Options{Symbols: nothing{}, Explain: true}, strings.NewReader(once)); twice != once {
			t.Errorf("%s: %s", text, firstDifference(twice, once))
		}
	}
	t.Logf("%d lines with reasons", n)
}
