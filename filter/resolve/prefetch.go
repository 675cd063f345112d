package resolve

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
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
	// Lines has the frames of the lines ahead.
	Lines   *parse.Ahead
	memo    *memo
	queries *queries
	source  *source
	broken  func(fault string)
	// rest is what follows the line at hand in the chunk. It is probably of the same thread.
	rest []byte
	of   *Thread
	// line is the number of the line at hand. candidates and absolutes select the lines of the rest that count.
	line       int
	candidates *match.Scan
	absolutes  bool
	// left is how many bytes of the chunk were not looked at.
	left int
	// idle is how many new queries pass before the next look ahead. vain is the last such delay: it grows with every look in
	// vain.
	idle, vain int
	// full is set if the last look ended since the batch was full, so that more requests may follow.
	full bool
	// now has the requests of the lines that follow, and next those of the lines after them: other cores go on with these while the stream
	// takes the answers of the former.
	now, next window
}

// window has the requests of one look ahead that the stream may ask for.
type window struct {
	// pending has the numbers of requests in batch, counted from 1: a hash table by their queries.
	pending []uint16
	// batch has them, nil if there are none. untaken is how many there are.
	batch   *batch
	untaken int
}

// batch has the requests of one look ahead. users is how many cores may still use them.
type batch struct {
	requests []request
	expected []symsrc.Expected // scratch memory
	users    atomic.Int32
}

// release ends the use by one core. The last one lets the memory be used again.
func (b *batch) release() {
	if b.users.Add(-1) == 0 {
		batches.Put(b)
	}
}

// batches are those whose memory may be used again: one program may have thousands of filters.
var batches = sync.Pool{New: func() any { return new(batch) }}

// request is a query that other cores may answer.
type request struct {
	q query
	// generation is that of the query's module.
	generation uint64
	// asked is set once the stream has asked for the answer.
	asked bool

	state atomic.Int32
	// done is closed when the answer is there, if the state was awaited before.
	done chan struct{}
	got  found
}

// States of a request.
const (
	free    = iota
	taken   // one core finds the answer
	awaited // and another waits for it
	answered
)

// chunk begins another chunk.
func (s *Prefetch) chunk() { s.left = math.MaxInt }

// Ahead notes what follows the line at hand. Its frames are probably of t.
func (s *Prefetch) Ahead(rest []byte, t *Thread) { s.rest, s.of = rest, t }

// Expect notes the thread of the frames that follow.
func (s *Prefetch) Expect(t *Thread) { s.of = t }

// Search sets which of the lines that follow may have frames.
func (s *Prefetch) Search(candidates *match.Scan, absolutes bool) {
	s.candidates, s.absolutes = candidates, absolutes
}

// Drop drops the answers that were not taken yet.
func (s *Prefetch) Drop() {
	s.now.drop()
	s.next.drop()
}

// drop drops the answers that were not taken yet.
func (w *window) drop() {
	if w.batch == nil {
		return
	}
	clear(w.pending)
	w.batch.release()
	w.batch, w.untaken = nil, 0
}

// take answers a query, or takes the answer that another core has found.
func (s *Prefetch) take(ctx context.Context, q query) found {
	e := s.request(&q)
	if len(s.rest) > 0 && len(s.rest) <= s.left && e == nil {
		if s.idle--; s.idle < 0 {
			s.Drop()
			s.Lines.Reset()
			s.lookAhead(ctx, s.rest, &s.now)
			e = s.request(&q)
		}
	} else if e != nil && s.now.untaken <= maxRequests/2 && s.full && s.left > 0 && s.left < len(s.rest) && s.next.batch == nil {
		s.Lines.Pass()
		s.lookAhead(ctx, s.rest[len(s.rest)-s.left:], &s.next)
	}
	got := s.await(ctx, e, q)
	if got.broken != "" {
		s.broken(got.broken)
	}
	return got
}

// await waits for the answer of another core if the query was prefetched, and asks the source otherwise.
func (s *Prefetch) await(ctx context.Context, e *request, q query) found {
	if e == nil || e.generation != q.mod.generation {
		return s.source.fetch(ctx, q)
	}
	e.asked = true
	got := e.answer(ctx, s.source)
	if s.now.untaken--; s.now.untaken == 0 {
		s.turn()
	}
	return got
}

// answer finds the answer, or waits for another core that does.
func (e *request) answer(ctx context.Context, from *source) found {
	if e.state.CompareAndSwap(free, taken) {
		return from.fetch(ctx, e.q)
	}
	if e.state.Load() == taken {
		e.done = make(chan struct{})
		if e.state.CompareAndSwap(taken, awaited) {
			<-e.done
		}
	}
	return e.got
}

// turn drops the answers of now. Those of next take their place.
func (s *Prefetch) turn() {
	s.now.drop()
	s.now, s.next = s.next, s.now
}

// request returns the request of a query whose answer was not asked for yet, or nil. Once that is one of next, the stream has come there.
func (s *Prefetch) request(q *query) *request {
	if e := s.now.request(q); e != nil {
		return e
	}
	e := s.next.request(q)
	if e != nil {
		s.turn()
	}
	return e
}

// request returns the request of a query whose answer was not asked for yet, or nil.
func (w *window) request(q *query) *request {
	if w.batch == nil {
		return nil
	}
	if n := *w.slot(q); n > 0 && !w.batch.requests[n-1].asked {
		return &w.batch.requests[n-1]
	}
	return nil
}

// slot returns the slot in pending that has the query's request, or the free one where that belongs.
func (w *window) slot(q *query) *uint16 {
	for i := q.hash() >> 40; ; i++ {
		if n := &w.pending[i%pendingSlots]; *n == 0 || w.batch.requests[*n-1].q == *q {
			return n
		}
	}
}

// lookAhead collects the queries of the lines ahead, which are the chunk from a place on, in a window, and has other cores answer them.
func (s *Prefetch) lookAhead(ctx context.Context, ahead []byte, w *window) {
	cores := runtime.GOMAXPROCS(0) - 1
	prefetcher := symsrc.PrefetcherOf(s.source.symbols)
	if cores == 0 && prefetcher == nil {
		s.left = -1
		return
	}
	if w.pending == nil {
		w.pending = make([]uint16, pendingSlots)
	}
	b := batches.Get().(*batch)
	b.requests = b.requests[:0]
	b.users.Store(1)
	w.batch = b
	text := ahead[:min(len(ahead), prefetchText)]
	for len(text) > 0 && len(b.requests) < maxRequests {
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
		if !ok || s.memo.isCurrent(s.memo.answers.get(&q)) || w != &s.now && s.now.request(&q) != nil {
			continue
		}
		s.memo.watch(q.mod)
		if files := q.mod.Files; prefetcher == nil && files != nil && !files.Usable() { // no core has anything to look up
			continue
		}
		if slot := w.slot(&q); *slot == 0 {
			b.add(&q)
			w.untaken++
			*slot = uint16(len(b.requests))
		}
	}
	s.left = max(0, len(ahead)-min(len(ahead), prefetchText)) + len(text)
	s.full = len(b.requests) == maxRequests
	if len(b.requests) < leastRequests || !s.announce(ctx, prefetcher, b) && cores == 0 {
		w.drop()
		if w == &s.now {
			s.vain = min(2*s.vain+leastRequests, maxVain)
			s.idle = s.vain
		}
		return
	}
	s.idle, s.vain = 0, 0
	s.send(ctx, cores, b)
}

// announce has the source prepare for the requests, and reports whether that helps.
func (s *Prefetch) announce(ctx context.Context, p symsrc.Prefetcher, b *batch) (helps bool) {
	if p == nil {
		return false
	}
	b.expected = slices.Grow(b.expected[:0], len(b.requests))
	for i := range b.requests {
		e := &b.requests[i]
		one := symsrc.Expected{Addr: e.q.addr()}
		if s.source.probes(&e.q) {
			one.Back = e.q.Rule.back
		}
		b.expected = append(b.expected, one)
	}
	return p.Prefetch(ctx, b.expected)
}

// add adds a request. The memory is that of one before, if there was one.
func (b *batch) add(q *query) {
	n := len(b.requests)
	b.requests = slices.Grow(b.requests, 1)[:n+1]
	e := &b.requests[n]
	e.q, e.generation, e.asked, e.done, e.got = *q, q.mod.generation, false, nil, found{}
	e.state.Store(free)
}

// send starts goroutines that fetch the answers. They end with the last request.
func (s *Prefetch) send(ctx context.Context, cores int, b *batch) {
	b.users.Add(int32(cores))
	for range cores {
		go func() {
			defer b.release()
			for i := range b.requests {
				if e := &b.requests[i]; e.state.CompareAndSwap(free, taken) {
					e.got = s.source.fetch(ctx, e.q)
					if e.state.Swap(answered) == awaited {
						close(e.done)
					}
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
	line, _ = scan.CutEnd(line)
	fr := s.Lines.Read(line)
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
