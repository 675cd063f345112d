// Package meter measures what the layers of a source take, and tells of the searches that they do.
//
//	meter.go    the time of each layer, without that of the layers behind it
//	tell.go     what is asked for
//	report.go   all figures of a run in words
//	usage_*.go  what the process has used
//	talk.go     searches for modules, as they happen
package meter

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Meter adds up time by layer; a nil Meter measures nothing. It may be used by several goroutines at once, whose times are added up.
type Meter struct {
	begin  time.Time
	cpu    time.Duration // that the process had used by then
	mu     sync.Mutex
	layers []*layer
}

// layer is what one layer has taken.
type layer struct {
	name        string
	calls, self atomic.Int64 // self in nanoseconds
}

// New starts the clock.
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

// calls tells how often a layer was called; 0 for one that was not made.
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

// span is one call that is under way. Calls of inner layers add what they take to inner.
type span struct{ inner atomic.Int64 }

// spanKey is where a context has the span of the layer that made it.
type spanKey struct{}

// start begins a call. end takes it off the layer around it.
func (l *layer) start(ctx context.Context) (inside context.Context, end func()) {
	around, _ := ctx.Value(spanKey{}).(*span)
	own, begin := new(span), time.Now()
	l.calls.Add(1)
	return context.WithValue(ctx, spanKey{}, own), func() {
		took := int64(time.Since(begin))
		l.self.Add(took - own.inner.Load())
		if around != nil {
			around.inner.Add(took)
		}
	}
}

// Finder puts the clock of a layer around a finder.
func (m *Meter) Finder(name string, f symsrc.Finder) symsrc.Finder {
	if m == nil {
		return f
	}
	return timedFinder{m.layer(name), f}
}

type timedFinder struct {
	l *layer
	f symsrc.Finder
}

func (t timedFinder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	ctx, end := t.l.start(ctx)
	defer end()
	return t.f.Find(ctx, m)
}

// Source puts the clock of a layer around a source.
func (m *Meter) Source(name string, s symsrc.Source) symsrc.Source {
	if m == nil {
		return s
	}
	return timedSource{m.layer(name), s}
}

type timedSource struct {
	l *layer
	s symsrc.Source
}

func (t timedSource) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	ctx, end := t.l.start(ctx)
	defer end()
	return t.s.Frames(ctx, q)
}

// Probe asks the source, if it is a prober; of another one nothing is known, which a zero Probe says.
func (t timedSource) Probe(ctx context.Context, q symsrc.Addr) (p symsrc.Probe) {
	if prober, ok := t.s.(symsrc.Prober); ok {
		ctx, end := t.l.start(ctx)
		defer end()
		t.l.calls.Add(-1) // it is part of a question
		p = prober.Probe(ctx, q)
	}
	return p
}

// Prefetcher returns that of the source, with the clock around it; nil where it has none.
func (t timedSource) Prefetcher() symsrc.Prefetcher {
	if p := symsrc.PrefetcherOf(t.s); p != nil {
		return timedPrefetcher{t.l, p}
	}
	return nil
}

type timedPrefetcher struct {
	l *layer
	p symsrc.Prefetcher
}

func (t timedPrefetcher) Prefetch(ctx context.Context, qs []symsrc.Expected) {
	ctx, end := t.l.start(ctx)
	defer end()
	t.l.calls.Add(-1)
	t.p.Prefetch(ctx, qs)
}
