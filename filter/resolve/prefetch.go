package resolve

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"sync/atomic"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// Limits of a prefetch: how far it looks, in bytes and in queries, and the fewest queries that are worth a goroutine.
const (
	prefetchText  = 256 << 10
	maxRequests   = 512
	leastRequests = 8

	pendingSlots = 4 * maxRequests
	maxVain      = 1 << 12
)

// Prefetch looks ahead over the lines that have arrived already when a query is new, and has other cores answer the queries
// that will be asked next. The order of the output does not change: the stream takes the answer, waits for it, or asks itself.
type Prefetch struct {
	memo    *memo
	queries *queries
	source  *source
	broken  func(fault string)
	// rest is what follows the line at hand in the chunk. It is probably of the same thread.
	rest []byte
	of   *Thread
	// line is the number of the line at hand. candidates and absolutes select the lines of the rest that count.
	line       int
	candidates *stream.Scan
	absolutes  bool
	// left is how many bytes of the chunk were not looked at.
	left int
	// idle is how many new queries pass before the next look ahead. vain is the last such delay: it grows with every look in
	// vain.
	idle, vain int
	// pending has the requests whose answers were not taken yet, each in the slot of its query.
	pending []*request
	search  frame.Search
}

// request is a query that other cores may answer.
type request struct {
	q query
	// generation is that of the query's module.
	generation uint64

	taken atomic.Bool
	done  chan struct{}
	got   found
}

// chunk begins another chunk.
func (s *Prefetch) chunk() { s.left = math.MaxInt }

// Ahead notes what follows the line at hand. Its frames are probably of t.
func (s *Prefetch) Ahead(rest []byte, t *Thread) { s.rest, s.of = rest, t }

// Expect notes the thread of the frames that follow.
func (s *Prefetch) Expect(t *Thread) { s.of = t }

// Search sets which of the lines that follow may have frames.
func (s *Prefetch) Search(candidates *stream.Scan, absolutes bool) {
	s.candidates, s.absolutes = candidates, absolutes
}

// Drop drops the answers that were not taken yet.
func (s *Prefetch) Drop() { clear(s.pending) }

// take answers a query, or takes the answer that another core has found.
func (s *Prefetch) take(ctx context.Context, q query) found {
	slot := s.slot(&q)
	if len(s.rest) > 0 && len(s.rest) <= s.left && (slot == nil || *slot == nil) {
		if s.idle--; s.idle < 0 {
			s.lookAhead(ctx)
			slot = s.slot(&q)
		}
	}
	got := s.await(ctx, slot, q)
	if got.broken != "" {
		s.broken(got.broken)
	}
	return got
}

// await waits for the answer of another core if the query was prefetched, and asks the source otherwise.
func (s *Prefetch) await(ctx context.Context, slot **request, q query) found {
	if slot == nil || *slot == nil || (*slot).q != q || (*slot).generation != q.mod.generation {
		return s.source.fetch(ctx, q)
	}
	e := *slot
	*slot = nil
	if e.taken.CompareAndSwap(false, true) {
		return s.source.fetch(ctx, q)
	}
	<-e.done
	return e.got
}

// slot returns the slot of a query in pending. It is nil before the first look ahead.
func (s *Prefetch) slot(q *query) **request {
	if s.pending == nil {
		return nil
	}
	return &s.pending[q.hash()>>40%pendingSlots]
}

// lookAhead collects the queries of the lines ahead and has other cores answer them.
func (s *Prefetch) lookAhead(ctx context.Context) {
	cores := runtime.GOMAXPROCS(0) - 1
	prefetcher := symsrc.PrefetcherOf(s.source.symbols)
	if cores == 0 && prefetcher == nil {
		s.left = -1
		return
	}
	if s.pending == nil {
		s.pending = make([]*request, pendingSlots)
	}
	clear(s.pending)
	var requests []*request
	text := s.rest[:min(len(s.rest), prefetchText)]
	for len(text) > 0 && len(requests) < maxRequests {
		at := s.candidates.Next(text, 0)
		if at < 0 {
			text = nil
			break
		}
		begin := bytes.LastIndexByte(text[:at], '\n') + 1
		n := bytes.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			break
		}
		line := text[begin : at+n]
		text = text[at+n:]
		q, ok, stop := s.predict(s.of, line)
		if stop {
			break
		}
		if !ok || s.memo.isCurrent(s.memo.answers.get(&q)) {
			continue
		}
		s.memo.watch(q.mod)
		if slot := s.slot(&q); *slot == nil {
			*slot = &request{q: q, generation: q.mod.generation, done: make(chan struct{})}
			requests = append(requests, *slot)
		}
	}
	s.left = max(0, len(s.rest)-min(len(s.rest), prefetchText)) + len(text)
	if len(requests) < leastRequests {
		clear(s.pending)
		s.vain = min(2*s.vain+leastRequests, maxVain)
		s.idle = s.vain
		return
	}
	s.idle, s.vain = 0, 0
	if prefetcher != nil {
		expected := make([]symsrc.Expected, len(requests))
		for i, e := range requests {
			expected[i].Addr = e.q.addr()
			if s.source.probes(&e.q) {
				expected[i].Back = e.q.Rule.back
			}
		}
		prefetcher.Prefetch(ctx, expected)
	}
	s.send(ctx, requests, cores)
}

// send starts goroutines that fetch the answers. They end with the last request.
func (s *Prefetch) send(ctx context.Context, requests []*request, cores int) {
	for range cores {
		go func() {
			for _, e := range requests {
				if e.taken.CompareAndSwap(false, true) {
					e.got = s.source.fetch(ctx, e.q)
					close(e.done)
				}
			}
		}()
	}
}

// predict returns the query of a line ahead, if it is a frame like those before. stop is set if the line changes the meaning
// of the lines after it.
func (s *Prefetch) predict(t *Thread, line []byte) (q query, ok, stop bool) {
	if i := bytes.Index(line, parse.OpenBraces); i >= 0 {
		bt, _, ok := markup.BTLine(line[i:])
		if !ok {
			return q, false, !bytes.HasPrefix(line[i:], btStart)
		}
		q, ok, _ = s.queries.at(t.Process, bt.Addr, symsrc.Code, s.queries.adjust.Element(t, bt.Type, false))
		return q, ok, false
	}
	if bytes.IndexByte(line, 0x1b) >= 0 || !frame.Candidate(line, false, s.absolutes) {
		return q, false, false
	}
	s.search.Reset(line)
	fr := s.search.Next(0)
	if fr == nil || fr.Done || fr.Shape == frame.NumberOnly || fr.Data {
		return q, false, false
	}
	seen := parse.Frame{Frame: *fr, ModuleText: fr.Module.Of(line), BuildIDText: fr.BuildID.Of(line), MemberText: fr.Member.Of(line), SymbolText: fr.Symbol.Of(line)}
	q, ok, absolute := s.queries.of(t, s.line, line, &seen)
	if absolute {
		q, ok, _ = s.queries.at(t.Process, q.off, q.kind, q.Rule)
	}
	return q, ok, false
}

// btStart is what a line with a frame of markup begins with.
var btStart = []byte("{{{bt:")
