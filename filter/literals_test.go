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

// TestLiteralSets holds that the vector search seldom stops in plain lines: not at pairs of the literals, and not at those that the
// halves of the bytes of literals of one set make up.
func TestLiteralSets(t *testing.T) {
	var first, second nibbles
	for _, l := range filter.Literals {
		if l.When&scan.Always != 0 {
			first.add(l.Text[l.Pair], 1<<l.Set)
			second.add(l.Text[l.Pair+1], 1<<l.Set)
		}
	}
	stops, size := [8]int{}, 0
	err := filepath.WalkDir("../testdata/logs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "bin" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if holdsLiteral(line) || bytes.Contains(line, []byte("==")) { // the sanitizers' own lines
				continue
			}
			size += len(line)
			for i := range len(line) - 1 {
				for set, in := 0, first.of(line[i])&second.of(line[i+1]); in != 0; set, in = set+1, in>>1 {
					stops[set] += int(in & 1)
				}
			}
		}
		return err
	})
	if err != nil || size < 32<<10 {
		t.Fatal(size, err)
	}
	const most = 6 // in each KiB
	for set, n := range stops {
		if each := float64(n) / float64(size) * 1024; each > most {
			t.Errorf("set %d: the search stops %.1f times in each KiB of plain lines", set, each)
		} else {
			t.Logf("set %d: %.2f in each KiB", set, each)
		}
	}
}

func holdsLiteral(line []byte) bool {
	for i := range filter.Literals {
		if filter.Literals[i].When&scan.Always != 0 && filter.Literals[i].In(line) {
			return true
		}
	}
	return false
}
