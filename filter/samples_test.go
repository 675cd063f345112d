package filter_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// remembering keeps the answers of a source, so that thousands of runs over the same logs are quick.
type remembering struct {
	*symobject.Source
	mu      sync.Mutex
	answers map[symsrc.Addr]symsrc.Answer
	probes  map[symsrc.Addr]symsrc.Probe
}

func (r *remembering) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[q]
	if !ok {
		a = r.Source.Frames(ctx, q)
		r.answers[q] = a
	}
	return a
}

func (r *remembering) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.probes[q]
	if !ok {
		p = r.Source.Probe(ctx, q)
		r.probes[q] = p
	}
	return p
}

// programs is a source of the sample programs, and of nothing of this machine.
var programs = sync.OnceValue(func() *remembering {
	dir, err := os.MkdirTemp("", "root")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	found, err := locate.New(locate.Options{Symbols: []string{"../testdata/logs/bin"}, Rootfs: []string{dir}, WorkDir: "../testdata/logs"})
	if err != nil {
		panic(err)
	}
	return &remembering{Source: symobject.NewSource(found), answers: map[symsrc.Addr]symsrc.Answer{}, probes: map[symsrc.Addr]symsrc.Probe{}}
})

// run returns what the filter makes of a log that it reads as a whole.
func run(t testing.TB, o filter.Options, log string) string {
	t.Helper()
	if o.Symbols == nil {
		o.Symbols = programs()
	}
	var out bytes.Buffer
	f := filter.New(o)
	if err := f.Run(t.Context(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	f.End()
	return out.String()
}

// lineByLine returns what becomes of each line of a log. What is held back is part of the line that lets it go.
func lineByLine(t testing.TB, o filter.Options, lines []string) []string {
	t.Helper()
	if o.Symbols == nil {
		o.Symbols = programs()
	}
	f := filter.New(o)
	out := make([]string, len(lines))
	for i, line := range lines {
		b := f.Line(t.Context(), nil, []byte(line+"\n"))
		out[i] = string(f.Flush(b))
	}
	return out
}

// samples returns the real logs, by their path below testdata/logs.
func samples(t testing.TB) map[string]string {
	t.Helper()
	logs := map[string]string{}
	for _, pattern := range []string{"*.log", "wrapped/*.log", "public/*.txt"} {
		paths, err := filepath.Glob(filepath.Join("../testdata/logs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel("../testdata/logs", path)
			if err != nil {
				t.Fatal(err)
			}
			logs[filepath.ToSlash(name)] = string(text)
		}
	}
	if len(logs) < 50 {
		t.Fatalf("only %d sample logs", len(logs))
	}
	return logs
}

// nothing is a source that knows nothing.
type nothing struct{}

func (nothing) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}}
}
