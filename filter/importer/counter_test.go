package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"qss-filter/symsrc"
)

// TestCounter holds sums that were spilled, some of them so often that runs had to be merged meanwhile, against a map.
func TestCounter(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, limit := range []int{maxEntries, 500, 20} {
		r := rand.New(rand.NewPCG(7, 8))
		c := newCounter(2)
		c.limit = limit
		want := map[string][2]int64{}
		for range 5000 {
			var path []int32
			for range r.IntN(6) {
				path = append(path, int32(r.IntN(4)))
			}
			if c.full() {
				if err := c.spill(); err != nil {
					t.Fatal(err)
				}
			}
			at := int32(0)
			for _, number := range path {
				at = c.step(at, number)
			}
			v := r.Int64N(100) - 50
			c.add(at, v, 1)
			sum := want[fmt.Sprint(path)]
			want[fmt.Sprint(path)] = [2]int64{sum[0] + v, sum[1] + 1}
		}
		if limit == 20 && c.spilled <= 2*maxRuns {
			t.Errorf("%d runs, which are too few to be merged", c.spilled)
		}
		for name, visit := range map[string]func(context.Context, func([]int32, []int64) error) error{"each": c.each, "inOrder": c.inOrder} {
			got := map[string][2]int64{}
			var last []int32
			err := visit(context.Background(), func(path []int32, values []int64) error {
				if name == "inOrder" && slices.Compare(last, path) > 0 {
					t.Errorf("%v comes after %v", path, last)
				}
				last = slices.Clone(path)
				if _, ok := got[fmt.Sprint(path)]; ok {
					t.Errorf("%v comes twice", path)
				}
				got[fmt.Sprint(path)] = [2]int64(values)
				return nil
			})
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%s, %d entries: %v, %d paths, want %d", name, limit, err, len(got), len(want))
			}
		}
		if left, err := os.ReadDir(os.TempDir()); len(left) > 0 && os.PathSeparator == '/' {
			t.Errorf("%v has a name while it is in use, %v", left, err)
		}
		c.close()
		if left, err := os.ReadDir(os.TempDir()); len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

// TestCounterStops says that visiting ends when the context does, or the visitor.
func TestCounterStops(t *testing.T) {
	for _, spilled := range []bool{false, true} {
		c := newCounter(1)
		c.add(c.step(0, 1), 1)
		c.add(c.step(0, 2), 1)
		if spilled {
			if err := c.spill(); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		enough := errors.New("enough")
		for name, visit := range map[string]func(context.Context, func([]int32, []int64) error) error{"each": c.each, "inOrder": c.inOrder} {
			visits := 0
			stop := func([]int32, []int64) error { visits++; return enough }
			if err := visit(ended, stop); !errors.Is(err, context.Canceled) || visits > 0 {
				t.Errorf("%s: %v after %d visits", name, err, visits)
			}
			if err := visit(context.Background(), stop); !errors.Is(err, enough) || visits != 1 {
				t.Errorf("%s: %v after %d visits", name, err, visits)
			}
		}
		c.close()
	}
}

// TestNoTemporaryDirectory says what happens where nothing can be spilled to: an error, and no more memory.
func TestNoTemporaryDirectory(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("TMPDIR is for Unix")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	p := NewProfile(ValueKind{"samples", "count"})
	p.stacks.limit = 100
	for i := range uint64(1000) {
		p.Add([]Call{{Addr: i + 1}}, 1)
	}
	if err := p.WriteFolded(context.Background(), io.Discard); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
	if len(p.stacks.tree) > 101 {
		t.Errorf("%d entries", len(p.stacks.tree))
	}
}

// TestBoundedTrace holds the profiles of a trace whose stacks do not fit into the tree against those of one whose do.
func TestBoundedTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	dir := t.TempDir()
	for thread := range 3 {
		root := &call{kind: normalNode, file: -1, fn: -1, start: -1, end: -1}
		all := []*call{root}
		for i := range 4000 {
			parent := all[max(0, len(all)-1-r.IntN(64))]
			c := &call{kind: normalNode, fn: int64(r.IntN(6)), start: int64(i), end: int64(i + r.IntN(50))}
			parent.inner = append(parent.inner, c)
			all = append(all, c)
		}
		writeTrace(t, dir, fmt.Sprintf("thread_0x%d.bin", thread), root)
	}
	if err := os.WriteFile(filepath.Join(dir, "symbol.json"), []byte(`{"0":{"fileName":"a","funcNames":{"0":"zero","1":"one","2":"two;2"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var want string
	for _, limit := range []int{maxEntries, 3000, 700} {
		p := NewProfile(ValueKind{"calls", "count"}, ValueKind{"time", "microseconds"})
		p.stacks.limit = limit
		k, err := newScaler(dir)
		if err != nil {
			t.Fatal(err)
		}
		out := &output{opt: Options{Folded: "-"}, quiet: true, profile: p}
		out.Writer = newDiscard()
		if err := k.read(context.Background(), out); err != nil {
			t.Fatal(err)
		}
		if spilled := p.stacks.spilled > 0; spilled != (limit != maxEntries) || spilled != (len(p.notes()) == 1) {
			t.Errorf("%d entries: spilled %v, notes %v", limit, spilled, p.notes())
		}
		var folded, table, packed bytes.Buffer
		if err := errors.Join(p.WriteFolded(context.Background(), &folded), p.WriteTable(context.Background(), &table, ByFunction),
			p.WritePprof(context.Background(), &packed)); err != nil {
			t.Fatal(err)
		}
		p.Close()
		got := folded.String() + table.String() + samplesOf(t, &packed)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d entries: the profiles differ", limit)
		}
	}
	if strings.Count(want, "\n") < 5000 {
		t.Errorf("%d lines are too few", strings.Count(want, "\n"))
	}
}

// samplesOf returns the samples of a profile of pprof as sorted text.
func samplesOf(t *testing.T, in io.Reader) string {
	t.Helper()
	p, err := profile.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range p.Sample {
		line := fmt.Sprint(s.Value)
		for _, l := range s.Location {
			line += ";" + l.Line[0].Function.Name
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestPprofAsTheLibrary holds what we write against what the library of pprof writes of the same profile.
func TestPprofAsTheLibrary(t *testing.T) {
	var ours, again, theirs bytes.Buffer
	if err := demo().WritePprof(context.Background(), &ours); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(ours.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(&again); err != nil {
		t.Fatal(err)
	}
	q, err := profile.Parse(&again)
	if err != nil || q.String() != p.String() || len(p.Sample) != 2 {
		t.Errorf("%v\n%s\nwant\n%s", err, q, p)
	}
	z, err := gzip.NewReader(&ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&theirs, z); err != nil || theirs.Len() == 0 {
		t.Errorf("%v, %d bytes", err, theirs.Len())
	}
}

// TestManyFunctions says that functions which there is no room for still count.
func TestManyFunctions(t *testing.T) {
	p := NewProfile(ValueKind{"samples", "count"})
	p.room = 1 << 14
	const all = 10_000
	for i := range all {
		p.Add([]Call{{Frames: []symsrc.Frame{{Func: fmt.Sprint("f", i)}}}, {Frames: []symsrc.Frame{{Func: "main"}}}}, 1)
	}
	var b bytes.Buffer
	if err := p.WriteTable(context.Background(), &b, ByFunction); err != nil {
		t.Fatal(err)
	}
	if n := len(p.calls); n > 200 || p.others != int64(all+2-n) || !strings.Contains(b.String(), fmt.Sprintf("%12d  ", all+2-n)) ||
		!strings.Contains(b.String(), otherCalls) || len(p.notes()) != 1 {
		t.Errorf("%d calls, %d others, %q:\n%s", n, p.others, p.notes(), b.String())
	}
}

// TestBeyond says that sums beyond 64 bits stay at their end, and that this is said.
func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		a, b, want int64
		exact      bool
	}{
		{1, 2, 3, true}, {math.MaxInt64, 1, math.MaxInt64, false}, {math.MinInt64, -1, math.MinInt64, false},
		{math.MaxInt64, math.MinInt64, -1, true}, {math.MaxInt64, math.MaxInt64, math.MaxInt64, false},
		{math.MinInt64, math.MinInt64, math.MinInt64, false}, {math.MaxInt64 - 1, 1, math.MaxInt64, true},
	} {
		if got, exact := addInt64(c.a, c.b); got != c.want || exact != c.exact {
			t.Errorf("%d + %d = %d, %v", c.a, c.b, got, exact)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "log.txt")
	text := "# PerFlow Performance Data\n"
	for range 3 {
		text += "[9223372036854775807] Call Stack (depth: 1)\n  0x100\n\n"
	}
	text += "[18446744073709551615] Call Stack (depth: 1)\n  0x100\n\n[99999999999999999999] Call Stack (depth: 1)\n  0x100\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	table, err := lines(t, path, Options{By: ByModule, Warn: func(s string) { said = append(said, s) }})
	if err != nil || !strings.Contains(table, "9223372036854775807 100.00%  [unknown]") || !slices.Equal(said, []string{beyondNote}) {
		t.Errorf("%v, %q\n%s", err, said, table)
	}
	root := &call{kind: normalNode, file: -1}
	root.inner = []*call{{kind: normalNode, start: math.MinInt64, end: math.MaxInt64}, {kind: normalNode, start: 2, end: 1}}
	writeTrace(t, dir, "thread_0x1.bin", root)
	thread, err := lines(t, filepath.Join(dir, "thread_0x1.bin"), Options{Kind: "scaler", MinDuration: 1})
	if !strings.Contains(thread, "start=-9223372036854775808 dur=9223372036854775807us") || strings.Contains(thread, "start=2") {
		t.Errorf("%v\n%s", err, thread)
	}
}

func newDiscard() *bufio.Writer { return bufio.NewWriter(io.Discard) }
