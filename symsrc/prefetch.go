package symsrc

import "context"

// Expected is a question that is going to be asked.
type Expected struct {
	Addr
	// Back, if not nil, returns how far before Offset the question will be, given what the machine code around Offset shows; a
	// zero Probe stands for code that is not there.
	Back func(Probe) uint64
}

// At returns the question as it will be asked after a probe that showed p.
func (e *Expected) At(p Probe) Addr {
	q := e.Addr
	if e.Back != nil {
		q.Offset -= e.Back(p)
	}
	return q
}

// Prefetcher is a Source that answers many questions at once faster than one by one. Prefetch tells it of some. It may return
// before it knows the answers; Frames then waits for what is on its way.
type Prefetcher interface {
	Prefetch(ctx context.Context, qs []Expected)
}

// PrefetcherOf returns what is to be told of questions before s is asked, nil where nothing wants to know. A Source that stands
// before another says by its own method Prefetcher which that is.
func PrefetcherOf(s Source) Prefetcher {
	switch s := s.(type) {
	case interface{ Prefetcher() Prefetcher }:
		return s.Prefetcher()
	case Prefetcher:
		return s
	}
	return nil
}
