package filter_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/scan"
)

// nibbles are the bits of the sets in which a byte's low or high half may stand, as the vector search has them.
type nibbles [2][16]uint8

func (n *nibbles) add(c, bit byte) {
	n[0][c&15] |= bit
	n[1][c>>4] |= bit
}

func (n *nibbles) of(c byte) uint8 { return n[0][c&15] & n[1][c>>4] }

// TestLiteralSets holds that the vector search seldom stops in plain lines, whatever is searched for: not at pairs of the literals, and
// not at those that the halves of the bytes of literals of one set make up.
func TestLiteralSets(t *testing.T) {
	lines, size := plainLines(t)
	for _, c := range []struct {
		state scan.When
		most  int // stops in each KiB, in any set
	}{
		{scan.Always, 8}, {scan.Always | scan.Seeking, 8}, {scan.Always | scan.Retracing, 12}, {scan.Always | scan.Coloring, 15}, {scan.Always | scan.Absolute, 18}, {scan.Always | scan.Absolute | scan.Renumbering, 20},
	} {
		var first, second nibbles
		for _, l := range filter.Literals {
			if l.When&c.state == 0 {
				continue
			}
			first.add(l.Text[l.Pair], 1<<l.Set)
			second.add(l.Text[l.Pair+1], 1<<l.Set)
			for digit := byte('0'); l.Text == scan.AnyNumber && digit <= '9'; digit++ {
				second.add(digit, 1<<l.Set)
			}
		}
		var stops [9]int // of the sets, and of any
		for _, line := range lines {
			for i := range len(line) - 1 {
				in := first.of(line[i]) & second.of(line[i+1])
				if in != 0 {
					stops[8]++
				}
				for set := range 8 {
					stops[set] += int(in >> set & 1)
				}
			}
		}
		each := func(n int) float64 { return float64(n) / float64(size) * 1024 }
		if each(stops[8]) > float64(c.most) {
			t.Errorf("state %d: the search stops %.1f times in each KiB of plain lines", c.state, each(stops[8]))
			for set := range 8 {
				t.Errorf("set %d: %.1f", set, each(stops[set]))
			}
		}
	}
}

// TestLiteralsInProse holds that the search does not stop often in sentences: programs log many, and the lines of plainLines have few.
func TestLiteralsInProse(t *testing.T) {
	const prose = "the quick worker thread started, taking longer than expected: waiting for a request handler to finish. " +
		"Retrying the connection from client 7 after 250 ms, using a config loaded during startup; missing cache entries are being fetched again. " +
		"Scheduling the next run, checking every pending job in the queue, and closing the remaining sockets. "
	var first, second nibbles
	for _, l := range filter.Literals {
		if l.When&scan.Always != 0 {
			first.add(l.Text[l.Pair], 1<<l.Set)
			second.add(l.Text[l.Pair+1], 1<<l.Set)
		}
	}
	stops := map[string]int{}
	for i := range len(prose) - 1 {
		if first.of(prose[i])&second.of(prose[i+1]) != 0 {
			stops[prose[i:i+2]]++
		}
	}
	for pair, n := range stops {
		if n > 4 {
			t.Errorf("the search stops %d times in %d bytes at %q", n, len(prose), pair)
		}
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

func holdsLiteral(line []byte) bool {
	for i := range filter.Literals {
		if filter.Literals[i].When&scan.Always != 0 && filter.Literals[i].In(line) {
			return true
		}
	}
	return false
}
