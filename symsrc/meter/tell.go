package meter

import (
	"fmt"
	"strings"
)

// Options say what is told of a run on standard error.
type Options struct {
	// Verbose tells of searches as they happen, and at the end how many questions the cache has answered.
	Verbose bool
	// Benchmark tells at the end what the run has taken.
	Benchmark bool
}

// Start starts the clock; nil where nothing is asked for.
func (o *Options) Start() *Meter {
	if !o.Verbose && !o.Benchmark {
		return nil
	}
	return New()
}

// Tell says at the end of a run what is asked for, line by line.
func (o *Options) Tell(m *Meter, f Figures, say func(message string)) {
	if m == nil {
		return
	}
	if o.Verbose {
		if asked, read := m.calls("cache"), m.calls("parse"); asked > 0 {
			say(fmt.Sprintf("%d look-ups, %d of them answered by the cache", asked, max(0, asked-read)))
		}
	}
	if o.Benchmark {
		for line := range strings.Lines(m.Report(f)) {
			say(strings.TrimSuffix(line, "\n"))
		}
	}
}
