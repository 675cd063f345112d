// Package meter measures the time that the layers of a source take, and reports their searches.
//
//	meter.go    the time of each layer, without that of the layers below it, and a report of all figures of a run
//	usage_*.go  CPU time and memory of the process
//	talk.go     searches for modules, as they happen
package meter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Meter adds up time by layer, over all goroutines. A nil Meter measures nothing. It may be used by several goroutines at once.
type Meter struct {
	begin  time.Time
	cpu    time.Duration // that the process had used at begin
	mu     sync.Mutex
	layers []*layer
}

// layer is the time of one layer.
type layer struct {
	name        string
	calls, self atomic.Int64 // self in nanoseconds
}

// New returns a Meter whose time begins now.
func New() *Meter { return &Meter{begin: time.Now(), cpu: used().cpu} }

func (m *Meter) layer(name string) *layer {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.layers {
		if l.name == name {
			return l
		}
	}
	l := &layer{name: name}
	m.layers = append(m.layers, l)
	return l
}

// calls returns how often a layer was called, 0 if there is no such layer.
func (m *Meter) calls(name string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.layers {
		if l.name == name {
			return l.calls.Load()
		}
	}
	return 0
}

// span is a running call. Calls of inner layers add their time to inner.
type span struct{ inner atomic.Int64 }

// spanKey is the key of the span of the innermost layer in a context.
type spanKey struct{}

// start starts a call, and counts it if it is a query. end subtracts its time from the layer around it.
func (l *layer) start(ctx context.Context, query bool) (inside context.Context, end func()) {
	around, _ := ctx.Value(spanKey{}).(*span)
	own, begin := new(span), time.Now()
	if query {
		l.calls.Add(1)
	}
	return context.WithValue(ctx, spanKey{}, own), func() {
		took := int64(time.Since(begin))
		l.self.Add(took - own.inner.Load())
		if around != nil {
			around.inner.Add(took)
		}
	}
}

// Finder returns f with the time of its calls added to a layer.
func (m *Meter) Finder(name string, f symsrc.Finder) symsrc.Finder {
	if m == nil {
		return f
	}
	return TimedFinder(f, m.layer(name).start)
}

// Source returns s with the time of its calls added to a layer. Only calls of Frames are counted.
func (m *Meter) Source(name string, s symsrc.Source) symsrc.Source {
	if m == nil {
		return s
	}
	return TimedSource(s, m.layer(name).start)
}

// Start starts to measure a call, which is a query unless it prepares or is part of another one. It returns the context
// for the call, and a function to be called at its end.
type Start func(ctx context.Context, query bool) (inside context.Context, end func())

// TimedFinder returns f with its calls measured.
func TimedFinder(f symsrc.Finder, start Start) symsrc.Finder { return timedFinder{f, start} }

type timedFinder struct {
	f     symsrc.Finder
	start Start
}

func (t timedFinder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	ctx, end := t.start(ctx, true)
	defer end()
	return t.f.Find(ctx, m)
}

// TimedSource returns s with its calls measured, and those of its Prober and Prefetcher.
func TimedSource(s symsrc.Source, start Start) symsrc.Source { return timedSource{s, start} }

type timedSource struct {
	s     symsrc.Source
	start Start
}

func (t timedSource) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	ctx, end := t.start(ctx, true)
	defer end()
	return t.s.Frames(ctx, q)
}

// Probe asks the source if it is a Prober. Otherwise nothing is known, which a zero Probe says.
func (t timedSource) Probe(ctx context.Context, q symsrc.Addr) (p symsrc.Probe) {
	if prober, ok := t.s.(symsrc.Prober); ok {
		ctx, end := t.start(ctx, false)
		defer end()
		p = prober.Probe(ctx, q)
	}
	return p
}

// Prefetcher returns the Prefetcher of the source with its calls measured, or nil.
func (t timedSource) Prefetcher() symsrc.Prefetcher {
	if p := symsrc.PrefetcherOf(t.s); p != nil {
		return timedPrefetcher{p, t.start}
	}
	return nil
}

type timedPrefetcher struct {
	p     symsrc.Prefetcher
	start Start
}

func (t timedPrefetcher) Prefetch(ctx context.Context, qs []symsrc.Expected) (helps bool) {
	ctx, end := t.start(ctx, false)
	defer end()
	return t.p.Prefetch(ctx, qs)
}

// Figures are the counts of the filter.
type Figures struct {
	// Lines and Read are those of the input, Written the bytes of the output.
	Lines         int
	Read, Written int64
	// Frames are those whose module is known, Unresolved those without a name.
	Frames, Unresolved int
}

// Add adds the figures of another stream.
func (f *Figures) Add(o Figures) {
	f.Lines += o.Lines
	f.Read += o.Read
	f.Written += o.Written
	f.Frames += o.Frames
	f.Unresolved += o.Unresolved
}

// Report returns the figures of a run until now as lines of text.
func (m *Meter) Report(f Figures) string {
	u := used()
	u.cpu -= m.cpu // the wall time does not include the start of the program either
	return m.report(f, time.Since(m.begin), u)
}

// usage is what the process has used; 0 is unknown.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes
}

func (m *Meter) report(f Figures, wall time.Duration, u usage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "wall %.3f s", wall.Seconds())
	if u.cpu > 0 {
		fmt.Fprintf(&b, ", CPU %.3f s (%.2f cores)", u.cpu.Seconds(), ratio(u.cpu.Seconds(), wall.Seconds()))
	}
	if u.peak > 0 {
		fmt.Fprintf(&b, ", peak memory %.1f MB", float64(u.peak)/1e6)
	}
	b.WriteByte('\n')
	if f.Read > 0 {
		f.write(&b, wall)
	}
	if n := len(m.layers); n > 0 { // the outermost one was made last
		asked := m.layers[n-1].calls.Load()
		fmt.Fprintf(&b, "%d distinct look-ups: %.1f frames each\n", asked, ratio(float64(f.Frames), float64(asked)))
	}
	for _, l := range m.layers {
		self := time.Duration(max(0, l.self.Load()))
		fmt.Fprintf(&b, "%-10s %8.3f s (%.4f of wall), %d calls\n", l.name, self.Seconds(), ratio(self.Seconds(), wall.Seconds()), l.calls.Load())
	}
	return b.String()
}

// write writes the counts of the filter.
func (f *Figures) write(b *strings.Builder, wall time.Duration) {
	fmt.Fprintf(b, "%d lines, %d bytes in, %d bytes out (%.2f of it): %.0f lines/s, %.1f MB/s\n", f.Lines, f.Read, f.Written,
		ratio(float64(f.Written), float64(f.Read)), ratio(float64(f.Lines), wall.Seconds()), ratio(float64(f.Read)/1e6, wall.Seconds()))
	if f.Frames > 0 {
		fmt.Fprintf(b, "%d frames (%.4f of the lines), %d without a name (%.4f of them)\n", f.Frames, ratio(float64(f.Frames), float64(f.Lines)),
			f.Unresolved, ratio(float64(f.Unresolved), float64(f.Frames)))
	}
}

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Options say what to report about a run on standard error.
type Options struct {
	// Verbose reports searches as they happen, and at the end how many queries the cache has answered.
	Verbose bool
	// Benchmark reports the times of the run at its end.
	Benchmark bool
}

// Start returns a new Meter, or nil if there is nothing to report.
func (o *Options) Start() *Meter {
	if !o.Verbose && !o.Benchmark {
		return nil
	}
	return New()
}

// Tell reports at the end of a run, line by line.
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
