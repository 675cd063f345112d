package filter_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

var update = flag.Bool("update", false, "write what becomes of the sample logs into testdata/golden")

// TestGolden compares what becomes of every sample log with what was looked at once: `go test ./filter -run TestGolden -update`
// writes it again. What it is compared with leaves out the system's own libraries, of which no file is in testdata.
func TestGolden(t *testing.T) {
	for name, log := range filtertest.Samples(t) {
		path := filepath.Join("../testdata/golden", filepath.FromSlash(name))
		got := []byte(filtertest.Run(t, filter.Options{Explain: true}, log))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %s", name, firstDifference(string(got), string(want)))
		}
		plain := filtertest.Run(t, filter.Options{}, log)
		if again := filtertest.Run(t, filter.Options{}, plain); again != plain {
			t.Errorf("%s, filtered twice: %s", name, firstDifference(again, plain))
		}
	}
}

// TestNothingElseChanges holds that without symbols no byte of a sample log changes that is not markup, with any line end,
// and with none on the last line.
func TestNothingElseChanges(t *testing.T) {
	for name, log := range filtertest.Samples(t) {
		var lines []string
		for line := range strings.Lines(log) {
			if !strings.Contains(line, "{{{") {
				lines = append(lines, line)
			}
		}
		log := strings.Join(lines, "")
		for _, in := range []string{log, strings.ReplaceAll(log, "\n", "\r\n"), strings.TrimRight(log, "\n"), "\x00\xff" + log, "\xff\xfe" + log} {
			if got := filtertest.Run(t, filter.Options{Symbols: nothing{}}, in); got != in {
				t.Errorf("%s: %s", name, firstDifference(got, in))
			}
		}
	}
}
