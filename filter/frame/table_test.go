package frame_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// plainLines returns the lines of the sample logs that hold neither a frame nor markup.
func plainLines(t *testing.T) (lines [][]byte) {
	t.Helper()
	var s frame.Search
	err := filepath.WalkDir("../../testdata/logs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "bin" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if s.Reset(line); s.Next(0) == nil && !bytes.Contains(line, []byte("{{{")) {
				lines = append(lines, line)
			}
		}
		return err
	})
	if err != nil || len(lines) < 1000 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	return lines
}

// What the literals of a format may cost the stream: the share of plain lines that it is to look at, and how often the vector search
// stops for nothing.
const (
	maxShare       = 0.06
	maxPairsPerKiB = 5
)

// check returns what is wrong with a format: it must find its own sample alone and among the others, and the stream must stop at the
// sample, but seldom elsewhere.
func check(f frame.Format, others []frame.Format, plain [][]byte) (wrong []error) {
	no := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	sample := []byte(f.Sample)
	for _, formats := range [][]frame.Format{{f}, others} {
		table, err := frame.NewTable(formats...)
		if err != nil {
			return []error{err}
		}
		s := table.Search()
		if s.Reset(sample); !finds(s, f.Name) {
			no("its sample is not found, of %d formats", len(formats))
		}
	}
	stops := false
	for _, l := range f.Literals {
		stops = stops || l.In(sample)
		if l.When == 0 || len(l.Text) < 2 && l.After == match.Any {
			no("literal %q has no state, or is a single byte", l.Text)
			continue
		}
		if l.When&match.Always != 0 {
			wrong = append(wrong, frequent(l.Text, plain, l.In)...)
		}
	}
	if !stops {
		no("its sample holds none of its literals: the stream does not stop there")
	}
	if f.Mark != "#" && !strings.HasSuffix(f.Mark, "0x") {
		wrong = append(wrong, frequent(f.Mark, plain, func(line []byte) bool { return bytes.Contains(line, []byte(f.Mark)) })...)
	}
	return wrong
}

func finds(s *frame.Search, family string) bool {
	for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
		if f.Family == family {
			return true
		}
	}
	return false
}

// frequent returns an error for a text for which many plain lines are looked at.
func frequent(text string, plain [][]byte, in func(line []byte) bool) (wrong []error) {
	lines := 0
	for _, line := range plain {
		if in(line) {
			lines++
		}
	}
	if share := float64(lines) / float64(len(plain)); share > maxShare {
		wrong = append(wrong, fmt.Errorf("%q is frequent: %.2f of the plain lines hold it", text, share))
	}
	return wrong
}

func TestFormats(t *testing.T) {
	plain := plainLines(t)
	for i, f := range frame.Formats() {
		for _, err := range check(f, frame.Formats(), plain) {
			t.Errorf("%s, row %d: %v", f.Name, i, err)
		}
	}
}

// throwAway is a format of no program: `at@@1a2b@@/bin/x`.
var throwAway = frame.Format{
	Name: "throw-away", Mark: "@@", Read: readThrowAway, Sample: "something at@@1a2b@@/bin/x",
	Literals: []match.Literal{{Text: "at@@", When: match.Always}},
}

func readThrowAway(_ *frame.Search, line []byte, at, from int, f *frame.Frame) bool {
	v, end, ok := scan.Hex(line, at+len("@@"))
	if !ok || !scan.EndsWith(line, from, at, "at") || !scan.Has(line, end, "@@/") {
		return false
	}
	path := end + len("@@")
	limit := path
	for !scan.WordEnd(line, limit) {
		limit++
	}
	*f = frame.Frame{Whole: scan.Span{Start: at, End: limit}, Module: scan.Span{Start: path, End: limit}, Off: scan.Span{Start: at + 2, End: end},
		Offset: v, Gap: scan.Span{Start: limit, End: limit}}
	return true
}

// TestAddFormat holds that a format is added with one row: it is found, and so are all others.
func TestAddFormat(t *testing.T) {
	formats := append(frame.Formats(), throwAway)
	plain := plainLines(t)
	for _, f := range formats {
		for _, err := range check(f, formats, plain) {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	table, err := frame.NewTable(formats...)
	if err != nil {
		t.Fatal(err)
	}
	sample := []byte(throwAway.Sample)
	s := table.Search()
	s.Reset(sample)
	f := s.Next(0)
	if f == nil || f.Offset != 0x1a2b || string(f.Module.Of(sample)) != "/bin/x" {
		t.Errorf("found %+v", f)
	}
	if !table.Candidate(sample, false, false) || frame.Candidate(sample, false, false) {
		t.Error("a line is looked at for the literals of the table's formats")
	}
	listed := false
	for _, l := range table.Literals() {
		listed = listed || l.Text == "at@@"
	}
	if !listed {
		t.Error("the table does not name the format's literal")
	}
}

// TestBadFormat holds that a place that was forgotten, or a literal that is no good, fails TestFormats.
func TestBadFormat(t *testing.T) {
	plain := plainLines(t)
	literal := func(text string) []match.Literal {
		return []match.Literal{{Text: text, When: match.Always}}
	}
	for _, c := range []struct {
		name   string
		change func(f *frame.Format)
		want   string
	}{
		{"no literal", func(f *frame.Format) { f.Literals = nil }, "a format needs"},
		{"no mark", func(f *frame.Format) { f.Mark = "" }, "a format needs"},
		{"no sample", func(f *frame.Format) { f.Sample = "" }, "a format needs"},
		{"no byte before 0x", func(f *frame.Format) { f.Mark = "0x" }, "the byte before"},
		{"another mark", func(f *frame.Format) { f.Mark = "%%" }, "not found"},
		{"another sample", func(f *frame.Format) { f.Sample = "something else" }, "not found"},
		{"another literal", func(f *frame.Format) { f.Literals = literal("throw") }, "none of its literals"},
		{"a frequent literal", func(f *frame.Format) { f.Literals = literal("at") }, `"at" is frequent`},
		{"a literal that always counts", func(f *frame.Format) { f.Literals = literal("0x") }, `"0x" is frequent`},
		{"a frequent mark", func(f *frame.Format) { f.Mark = "at" }, `"at" is frequent`},
		{"a single byte", func(f *frame.Format) { f.Literals = literal("@") }, "single byte"},
	} {
		f := throwAway
		c.change(&f)
		if err := errors.Join(check(f, append(frame.Formats(), f), plain)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// manyFormats returns a table of the known formats and of made-up ones, and the number of times that one of these was asked.
func manyFormats(t testing.TB, n int) (table *frame.Table, asked *int) {
	t.Helper()
	asked = new(int)
	formats := frame.Formats()
	for i := range n {
		f := throwAway
		f.Name, f.Mark = fmt.Sprint("made-up ", i), fmt.Sprintf("%c%c@%d ", 'a'+i%26, 'A'+i/26, i)
		f.Literals = []match.Literal{{Text: f.Mark, When: match.Always}}
		f.Read = func(*frame.Search, []byte, int, int, *frame.Frame) bool { *asked++; return false }
		formats = append(formats, f)
	}
	table, err := frame.NewTable(formats...)
	if err != nil {
		t.Fatal(err)
	}
	return table, asked
}

// frameLine holds a frame, and much that others may begin with.
const frameLine = "11-21 10:11:12.123  1201  1240 I app     :     #7 0x7f00000febbb  (/lib/x86_64-linux-gnu/libc.so.6+0xfebbb) (BuildId: 93ac61ec5a8eb1396f9fbd350e316)"

// TestManyFormats holds that a format is not asked about a line without its mark, however many there are.
func TestManyFormats(t *testing.T) {
	for _, n := range []int{10, 30, 60, 120} {
		table, asked := manyFormats(t, n)
		s := table.Search()
		if s.Reset([]byte(frameLine)); !finds(s, "sanitizer") || *asked != 0 {
			t.Errorf("%d more formats: %d were asked", n, *asked)
		}
		last := frame.Formats()[0].Sample + fmt.Sprintf(" %c%c@%d x", 'a'+(n-1)%26, 'A'+(n-1)/26, n-1)
		s.Reset([]byte(last))
		for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
		}
		if !table.Candidate([]byte(last), false, false) || *asked != 1 {
			t.Errorf("%d more formats: that of the mark was asked %d times", n, *asked)
		}
	}
}

// BenchmarkManyFormats measures what a line costs that is looked at, by the number of formats.
func BenchmarkManyFormats(b *testing.B) {
	for _, n := range []int{0, 10, 30, 60, 120} {
		b.Run(fmt.Sprint(n, " more"), func(b *testing.B) {
			table, _ := manyFormats(b, n)
			s, line := table.Search(), []byte(frameLine)
			for b.Loop() {
				if !table.Candidate(line, false, false) {
					b.Fatal("no candidate")
				}
				s.Reset(line)
				for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
				}
			}
		})
	}
}
