package frame

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

var update = flag.Bool("update", false, "write what is found into testdata/frames.txt, to be read by eye")

// describe says all of a frame in words.
func describe(line []byte, f *Frame) string {
	var b strings.Builder
	b.WriteString(f.Family)
	part := func(name string, s Span) {
		if s != (Span{}) {
			fmt.Fprintf(&b, " %s=%q", name, s.Of(line))
		}
	}
	fmt.Fprintf(&b, " whole=%q", f.Whole.Of(line))
	if !f.Num.Empty() {
		fmt.Fprintf(&b, " #%d", f.Number)
	}
	part("addr", f.Addr)
	part("gap", f.Gap)
	part("module", f.Module)
	part("member", f.Member)
	part("symbol", f.Symbol)
	part("id", f.BuildID)
	if f.Size > 0 {
		fmt.Fprintf(&b, " size=%#x", f.Size)
	}
	if f.ImageBase > 0 {
		fmt.Fprintf(&b, " base=%#x", f.ImageBase)
	}
	if f.ImageIndex > 0 {
		fmt.Fprintf(&b, " image=%d", f.ImageIndex)
	}
	if f.Arch != "" {
		fmt.Fprintf(&b, " arch=%s", f.Arch)
	}
	if f.InArchive > 0 {
		fmt.Fprintf(&b, " inArchive=%#x", f.InArchive)
	}
	shape := [...]string{Numbered: "", Pair: "pair ", Fields: "fields ", NumberOnly: "numberOnly ", Member: "member "}[f.Shape]
	space := [...]string{symsrc.Linked: "linked", symsrc.InFile: "inFile", symsrc.InImage: "inImage", symsrc.InText: "inText", symsrc.Fixed: "fixed",
		symsrc.InFileOrLinked: "inFileOrLinked", symsrc.InFileOrFixed: "inFileOrFixed", symsrc.InScript: "inScript"}[f.Space]
	if f.Base != InModule && f.Space != symsrc.InFileOrFixed {
		space = [...]string{FromSymbol: "fromSymbol", Absolute: "absolute", InMapping: "inMapping"}[f.Base]
	}
	convention := [...]string{Unsaid: "unsaid", Moved: "moved", Raw: "raw", RawButFirst: "rawButFirst", UnsaidButFirst: "unsaidButFirst", Exact: "exact", OneLess: "oneLess", Either: "either",
		Sanitizers: "sanitizers", Strace: "strace", Listed: "listed", Traced: "traced", TracedFirst: "tracedFirst", Returning: "returning", Branching: "branching", Darwin: "darwin"}[f.Convention]
	fmt.Fprintf(&b, " %s%s:%#x %s", shape, space, f.Offset, convention)
	if f.Machines != 0 {
		fmt.Fprintf(&b, " machines=%03b", f.Machines)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{f.Counts, "counts"}, {f.Data, "data"}, {f.Done, "done"}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	return b.String()
}

func all(line []byte) (frames []Frame) {
	var s Search
	s.Reset(line)
	for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
		frames = append(frames, *f)
	}
	return frames
}

// TestSamples reads testdata/frames.txt: each line of a log after a `|`, and below it the frames in it, after a `=`.
func TestSamples(t *testing.T) {
	const path = "testdata/frames.txt"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "=") {
			continue
		}
		got = append(got, line)
		if text, ok := strings.CutPrefix(line, "|"); ok {
			for _, f := range all([]byte(text)) {
				got = append(got, "="+describe([]byte(text), &f))
			}
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i := 0; i < len(got) || i < len(want); i++ {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d:\n got %q\nwant %q", i+1, slices.Concat(got, []string{"", ""})[i], slices.Concat(want, []string{"", ""})[i])
		}
	}
}

// samples are the lines of testdata/frames.txt.
func samples(t testing.TB) (lines [][]byte) {
	data, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if text, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("|")); ok {
			lines = append(lines, text)
		}
	}
	return lines
}
