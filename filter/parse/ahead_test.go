package parse

import (
	"bytes"
	"os"
	"reflect"
	"testing"
)

// TestAhead reads the samples of all formats with and without an Ahead that has read their lines, of which some are left out later. It forgets
// those that have passed once in a while.
func TestAhead(t *testing.T) {
	data, err := os.ReadFile("../frame/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for text := range bytes.Lines(data) {
		if line, ok := bytes.CutPrefix(bytes.TrimSuffix(text, []byte("\n")), []byte("|")); ok {
			lines = append(lines, line)
		}
	}
	with, without := Parser{Ahead: new(Ahead)}, Parser{}
	half := len(lines) / 2
	for _, line := range lines[:half] {
		with.Ahead.Read(line)
	}
	taken := 0
	for i, line := range lines {
		if i%100 == 0 {
			with.Ahead.Pass()
		}
		if i == half/2 {
			for _, line := range lines[half:] {
				with.Ahead.Read(line)
			}
		}
		if i%7 == 3 {
			continue
		}
		before := with.Ahead.next
		complete, want := with.ReadFrames(Segment{Text: line}, true, true), without.ReadFrames(Segment{Text: line}, true, true)
		if complete != want || len(with.Frames) != len(without.Frames) {
			t.Fatalf("%s: %+v, want %+v", line, with.Frames, without.Frames)
		}
		for k := range with.Frames {
			if !reflect.DeepEqual(with.Frames[k], without.Frames[k]) {
				t.Errorf("%s: %+v, want %+v", line, with.Frames[k], without.Frames[k])
			}
		}
		if with.Ahead.next != before {
			taken++
		}
	}
	if taken < len(lines)/2 {
		t.Errorf("%d of %d lines were known", taken, len(lines))
	}
}
