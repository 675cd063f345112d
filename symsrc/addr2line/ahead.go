package addr2line

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
)

// Bounds of prefetched answers that are not yet taken, in answers and in bytes.
const (
	maxAhead      = 1 << 14
	maxAheadBytes = 32 << 20
)

// ahead has prefetched answers that are pending or not yet taken.
type ahead struct {
	mu    sync.Mutex
	m     map[place]*pending
	bytes int
}

// place is an address in the files of a module, as they were when they were found.
type place struct {
	t    *targets
	addr uint64
}

// pending is one answer. Its frames are valid when done is closed and known is set: a program may die, or its query may be canceled.
type pending struct {
	done   chan struct{}
	known  bool
	frames []symsrc.Frame
}

// add returns a new pending answer for a place, nil if there is one already.
func (a *ahead) add(at place) *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m[at] != nil {
		return nil
	}
	if a.m == nil || len(a.m) >= maxAhead || a.bytes > maxAheadBytes {
		a.m, a.bytes = map[place]*pending{}, 0
	}
	p := &pending{done: make(chan struct{})}
	a.m[at] = p
	return p
}

// settle ends the wait for an answer.
func (a *ahead) settle(p *pending, frames []symsrc.Frame, known bool) {
	a.mu.Lock()
	a.bytes += sizeOf(frames)
	a.mu.Unlock()
	p.frames, p.known = frames, known
	close(p.done)
}

// take waits for the answer for a place, if it is known or pending, and removes it: the caller remembers it.
func (a *ahead) take(ctx context.Context, at place) (frames []symsrc.Frame, ok bool) {
	a.mu.Lock()
	p := a.m[at]
	a.mu.Unlock()
	if p == nil {
		return nil, false
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, false
	}
	a.mu.Lock()
	if a.m[at] == p {
		delete(a.m, at)
		a.bytes -= sizeOf(p.frames)
	}
	a.mu.Unlock()
	return p.frames, p.known
}

// sizeOf returns the approximate memory of frames, in bytes.
func sizeOf(frames []symsrc.Frame) (n int) {
	for i := range frames {
		n += 160 + len(frames[i].Func) + len(frames[i].Linkage) + len(frames[i].File)
	}
	return n
}

// Prefetch asks each program for all addresses of its file in one batch. It does not wait for the
// answers; Frames takes them.
func (s *Source) Prefetch(ctx context.Context, qs []symsrc.Expected) (helps bool) {
	of := map[*targets]*batch{}
	var batches []*batch // in the order of the queries, in which the answers will be taken
	for i := range qs {
		t, addr, ok := s.locate(ctx, &qs[i])
		if !ok {
			continue
		}
		p := s.ahead.add(place{t, addr})
		if p == nil {
			continue
		}
		b := of[t]
		if b == nil {
			b = &batch{paths: t.paths}
			of[t], batches = b, append(batches, b)
		}
		b.addrs, b.pending = append(b.addrs, addr), append(b.pending, p)
	}
	var next atomic.Int64
	for range min(len(batches), runtime.GOMAXPROCS(0)) {
		go func() {
			for i := next.Add(1) - 1; i < int64(len(batches)); i = next.Add(1) - 1 {
				s.run(ctx, batches[i])
			}
		}()
	}
	return len(batches) > 0
}

// locate returns the files and the address of a query; ok is false if a program will not be asked.
func (s *Source) locate(ctx context.Context, e *symsrc.Expected) (t *targets, addr uint64, ok bool) {
	if e.Kind != symsrc.Code || e.Symbol != "" {
		return nil, 0, false
	}
	if t = s.target(ctx, e.Module); len(t.paths) == 0 {
		return nil, 0, false
	}
	var shown symsrc.Probe
	if e.Back != nil {
		shown = s.Probe(ctx, e.Addr)
	}
	addr, ok = s.linked(ctx, e.At(shown))
	return t, addr, ok
}

// batch has addresses of one module with their pending answers.
type batch struct {
	paths   []string
	addrs   []uint64
	pending []*pending
}

// run asks for a batch: the first file of the module for all addresses, each further one for those without a name.
func (s *Source) run(ctx context.Context, b *batch) {
	for len(b.addrs) > 0 {
		rest := &batch{paths: b.paths[1:]}
		c := s.child(b.paths[0])
		n := c.ask(ctx, b.addrs, func(i int, frames []symsrc.Frame) {
			if len(rest.paths) == 0 || named(frames) {
				s.ahead.settle(b.pending[i], frames, true)
			} else {
				rest.addrs, rest.pending = append(rest.addrs, b.addrs[i]), append(rest.pending, b.pending[i])
			}
		})
		c.mu.Unlock()
		for _, p := range b.pending[n:] { // the rest was canceled
			s.ahead.settle(p, nil, false)
		}
		b = rest
	}
}
