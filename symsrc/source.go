package symsrc

import (
	"context"
	"sync"
)

// Chain asks each source in turn until one names a function. Where none does, the last answer that knows of files is
// given, for its reason.
func Chain(sources ...Source) Source {
	if len(sources) == 1 {
		return sources[0]
	}
	return chain(sources)
}

type chain []Source

func (c chain) Frames(ctx context.Context, q Addr) Answer {
	var best Answer
	for _, s := range c {
		a := s.Frames(ctx, q)
		if len(a.Frames) > 0 {
			return a
		}
		if a.Files != nil {
			best = a
		}
	}
	return best
}

// Memo remembers the answers of a source in memory. When it is full it forgets everything and starts anew: a log
// repeats its frames within a short time, so no order of use needs keeping.
type Memo struct {
	src   Source
	limit int

	mu sync.Mutex
	m  map[Addr]Answer
}

// NewMemo puts a memory of at most limit answers before src.
func NewMemo(src Source, limit int) *Memo {
	return &Memo{src: src, limit: limit, m: make(map[Addr]Answer)}
}

// Frames gives the remembered answer, or asks and remembers.
func (m *Memo) Frames(ctx context.Context, q Addr) Answer {
	m.mu.Lock()
	a, ok := m.m[q]
	m.mu.Unlock()
	if ok {
		return a
	}
	a = m.src.Frames(ctx, q)
	m.mu.Lock()
	if len(m.m) >= m.limit {
		clear(m.m)
	}
	m.m[q] = a
	m.mu.Unlock()
	return a
}
