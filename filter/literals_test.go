package filter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/match"
	"qss-filter/filter/print"
)

// TestLiteralSets holds that the vector search seldom stops in plain lines, whatever is searched for: not at bytes of the literals, and
// not at those that the halves of the bytes of literals of one set make up.
func TestLiteralSets(t *testing.T) {
	lines, size := plainLines(t)
	for _, c := range []struct {
		state match.When
		most  float64 // stops in each KiB
	}{
		{match.Always, 3}, {match.Always | match.Seeking, 6}, {match.Always | match.Retracing, 6}, {match.Always | match.Coloring, 12}, {match.Always | match.Absolute, 33}, {match.Always | match.Absolute | match.Renumbering, 34},
	} {
		search := match.NewScan(filter.Literals, c.state)
		stops := 0
		for _, line := range lines {
			stops += search.Stops(line)
		}
		if each := float64(stops) / float64(size) * 1024; each > c.most {
			t.Errorf("state %d: the search stops %.2f times in each KiB of plain lines", c.state, each)
		}
	}
}

// TestLiteralsInProse holds that the search does not stop often in sentences: programs log many, and the lines of plainLines have few.
func TestLiteralsInProse(t *testing.T) {
	const prose = "the quick worker thread started, taking longer than expected: waiting for a request handler to finish. " +
		"Retrying the connection from client 7 after 250 ms, using a config loaded during startup; missing cache entries are being fetched again. " +
		"Scheduling the next run, checking every pending job in the queue, and closing the remaining sockets. "
	if stops := match.NewScan(filter.Literals, match.Always).Stops([]byte(prose)); stops > 1 {
		t.Errorf("the search stops %d times in %d bytes", stops, len(prose))
	}
}

// plainLines returns lines of logs without a literal, and one of logcat many times, and their size.
func plainLines(t *testing.T) (lines [][]byte, size int) {
	t.Helper()
	err := filepath.WalkDir("../testdata/logs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "bin" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if !holdsLiteral(line) && !bytes.Contains(line, []byte("==")) { // the sanitizers' own lines
				lines = append(lines, line)
			}
		}
		return err
	})
	for range 400 {
		lines = append(lines, []byte(ordinary))
	}
	for _, line := range lines {
		size += len(line)
	}
	if err != nil || size < 32<<10 {
		t.Fatal(size, err)
	}
	return lines, size
}

// TestTriggers holds that no literal alone has its line read, but those that mean something whatever stands around them.
func TestTriggers(t *testing.T) {
	alone := []string{"*** *** ***", "==Process memory map follows", "Native frames: (J=", `"module_offset":`}
	search := match.NewScan(filter.Literals, match.Always)
	for _, l := range filter.Literals {
		if l.When&match.Always == 0 {
			continue
		}
		line := "2026-11-21 10:11:12 host worker: request 7 done, status ok " + l.Text + " and nothing else to say about it\n"
		if got, want := search.Next([]byte(line), 0) >= 0, slices.Contains(alone, l.Text); got != want {
			t.Errorf("the line of %q is read: %v", l.Text, got)
		}
	}
}

// TestUnread holds that a line which is not looked at means nothing, and a string of an object of JSON that is not: the output of real logs is
// the same if all are.
func TestUnread(t *testing.T) {
	logs := 0
	for _, root := range unreadLogs() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".so" {
				if err == nil && d.Name() == "bin" {
					return filepath.SkipDir
				}
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || len(text) > 1<<20 || bytes.HasPrefix(text, []byte("\x7fELF")) {
				return err
			}
			logs++
			for i, o := range []filter.Options{{}, {Explain: true, Renumber: print.RenumberAlways}, {}} {
				o.Symbols = &symbols{}
				if i == 2 {
					text = objectsOf(text)
				}
				run := func(every bool) string {
					f := filter.New(o)
					if every {
						f.ReadEveryLine()
					}
					var out strings.Builder
					if err := f.Run(context.Background(), bytes.NewReader(text), &out); err != nil {
						t.Fatal(err)
					}
					return out.String()
				}
				if want, got := run(true), run(false); got != want {
					i := 0
					for i < min(len(got), len(want)) && got[i] == want[i] {
						i++
					}
					t.Errorf("%s: got %q\nwant %q", path, filtertest.Cut(got[max(0, i-200):]), filtertest.Cut(want[max(0, i-200):]))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if logs < 20 {
		t.Errorf("only %d logs", logs)
	}
}

// objectsOf returns the lines of a log as objects of JSON with other strings, some of them in one string.
func objectsOf(log []byte) (objects []byte) {
	for lines := range slices.Chunk(slices.Collect(bytes.Lines(log)), 5) {
		object, _ := json.Marshal(map[string]any{"level": "error", "caller": "worker/pool.go:17", "first": string(lines[0]), "all": string(bytes.Join(lines, nil)), "took": "0x12 ms"})
		objects = append(append(objects, object...), '\n')
	}
	return objects
}

func unreadLogs() []string {
	if dir := os.Getenv("QSS_LOGS"); dir != "" {
		return filepath.SplitList(dir)
	}
	return []string{"../testdata/logs", "../testdata/junit", "testdata/foreign", "frame/testdata", "prefix/testdata"}
}

func holdsLiteral(line []byte) bool {
	for i := range filter.Literals {
		if filter.Literals[i].When&match.Always != 0 && filter.Literals[i].In(line) {
			return true
		}
	}
	return false
}
