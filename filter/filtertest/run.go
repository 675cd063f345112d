package filtertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// Remembering keeps the answers of a source, so that thousands of runs over the same logs are quick.
type Remembering struct {
	*object.Source
	mu      sync.Mutex
	answers map[symsrc.Addr]symsrc.Answer
	probes  map[symsrc.Addr]symsrc.Probe
}

func (r *Remembering) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[q]
	if !ok {
		a = r.Source.Frames(ctx, q)
		r.answers[q] = a
	}
	return a
}

func (r *Remembering) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.probes[q]
	if !ok {
		p = r.Source.Probe(ctx, q)
		r.probes[q] = p
	}
	return p
}

// Forgetful returns the source, which has forgotten what it remembers if that is much.
func (r *Remembering) Forgetful() symsrc.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers)+len(r.probes) > 1<<16 {
		clear(r.answers)
		clear(r.probes)
	}
	return r
}

// logs is testdata/logs of the project, as seen from the directory of the test.
var logs = sync.OnceValue(func() string {
	dir := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "testdata", "logs")
		}
		dir = filepath.Join("..", dir)
	}
	panic(errors.New("the test does not run in the project"))
})

// Programs returns a source of the sample programs, and of nothing of this machine.
var Programs = sync.OnceValue(func() *Remembering {
	dir, err := os.MkdirTemp("", "root")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	found, err := locate.New(locate.Options{Symbols: []string{filepath.Join(logs(), "bin")}, Rootfs: []string{dir}, WorkDir: logs()})
	if err != nil {
		panic(err)
	}
	return &Remembering{Source: object.NewSource(found), answers: map[symsrc.Addr]symsrc.Answer{}, probes: map[symsrc.Addr]symsrc.Probe{}}
})

// Run returns what the filter makes of a log that it reads as a whole, with the sample programs unless the options have symbols.
func Run(t testing.TB, o filter.Options, log string) string {
	t.Helper()
	if o.Symbols == nil {
		o.Symbols = Programs()
	}
	var out bytes.Buffer
	f := filter.New(o)
	if err := f.Run(t.Context(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	f.End()
	return out.String()
}

// RunAll returns what the filter makes of a log that never pauses.
func RunAll(t testing.TB, o filter.Options, in io.Reader) string {
	t.Helper()
	var out bytes.Buffer
	if err := filter.New(o).Run(context.Background(), stream.Steady(in), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// LineByLine returns what becomes of each line of a log. What is held back is part of the line that lets it go.
func LineByLine(t testing.TB, o filter.Options, lines []string) []string {
	t.Helper()
	if o.Symbols == nil {
		o.Symbols = Programs()
	}
	f := filter.New(o)
	out := make([]string, len(lines))
	for i, line := range lines {
		b := f.Line(t.Context(), nil, []byte(line+"\n"))
		out[i] = string(f.Flush(b))
	}
	return out
}

// Samples returns the real logs, by their path below testdata/logs.
func Samples(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.log", "wrapped/*.log", "public/*.txt"} {
		paths, err := filepath.Glob(filepath.Join(logs(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(logs(), path)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.ToSlash(name)] = string(text)
		}
	}
	if len(all) < 50 {
		t.Fatalf("only %d sample logs", len(all))
	}
	return all
}

// Ran is Options.Ran of a log whose programs were seen with every file.
func Ran(string) bool { return true }

// RanAll returns it if all of them were, nil otherwise.
func RanAll(all bool) func(string) bool {
	if all {
		return Ran
	}
	return nil
}
