package resolve

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// Limits of a prefetch: how far it looks, in bytes and in questions, and the fewest questions that are worth a goroutine.
const (
	prefetchText  = 256 << 10
	maxRequests   = 512
	leastRequests = 8

	pendingSlots = 4 * maxRequests
	maxVain      = 1 << 12
)

// prefetch looks ahead over the lines that have arrived already when a question is new, and has other cores answer the questions
// that will be asked next. The order of the output does not change: the stream takes the answer, waits for it, or asks itself.
type prefetch struct {
	// rest is what follows the line at hand in the chunk. It is probably of the same thread.
	rest []byte
	of   *Thread
	// line is the number of the line at hand. candidates and absolutes select the lines of the rest that count.
	line       int
	candidates *stream.Scan
	absolutes  bool
	// left is how many bytes of the chunk were not looked at.
	left int
	// idle is how many new questions pass before the next look ahead. vain is the last such delay: it grows with every look in
	// vain.
	idle, vain int
	// pending has the requests whose answers were not taken yet, each in the slot of its question.
	pending []*request
	search  frame.Search
}

// request is a question that other cores may answer.
type request struct {
	q question
	// generation is that of the question's module.
	generation uint64

	taken atomic.Bool
	done  chan struct{}
	got   found
}

// found is the outcome of a question: how its address was adjusted, and the answer.
type found struct {
	probe symsrc.Probe
	addr  symsrc.Addr
	back  uint64
	symsrc.Answer
	// unclear is Answer.Unclear.
	unclear string
	// broken describes the panic that the question caused. It is "" if there was none.
	broken string
}

// chunk begins another chunk.
func (s *prefetch) chunk() { s.left = math.MaxInt }

// at notes what follows the line at hand.
func (s *prefetch) at(rest []byte, t *Thread) { s.rest, s.of = rest, t }

// seek answers a question, or takes the answer that another core has found.
func (r *Resolver) seek(ctx context.Context, q question) found {
	s := &r.prefetch
	slot := s.slot(&q)
	if len(s.rest) > 0 && len(s.rest) <= s.left && (slot == nil || *slot == nil) {
		if s.idle--; s.idle < 0 {
			r.lookAhead(ctx)
			slot = s.slot(&q)
		}
	}
	got := r.await(ctx, slot, q)
	if got.broken != "" {
		r.opt.Broken(got.broken)
	}
	return got
}

// await waits for the answer of another core if the question was prefetched, and asks the source otherwise.
func (r *Resolver) await(ctx context.Context, slot **request, q question) found {
	if slot == nil || *slot == nil || (*slot).q != q || (*slot).generation != q.mod.generation {
		return r.fetch(ctx, q)
	}
	e := *slot
	*slot = nil
	if e.taken.CompareAndSwap(false, true) {
		return r.fetch(ctx, q)
	}
	<-e.done
	return e.got
}

// fetch asks the source. It may be called by several goroutines at once.
func (r *Resolver) fetch(ctx context.Context, q question) (got found) {
	defer got.rescue(q)
	got.addr = q.asked()
	if r.probes(&q) {
		got.probe = r.prober.Probe(ctx, got.addr)
	}
	switch q.Adjustment.mode() {
	case straced, stracedExact:
		r.countFrom(ctx, q, &got)
	}
	got.back = q.Adjustment.back(got.probe)
	got.addr.Offset -= got.back
	got.Answer = r.opt.Symbols.Frames(ctx, got.addr)
	if other, why := q.Adjustment.otherwise(got.probe); why != "" && got.unclear == "" && other != got.back {
		r.doubt(ctx, other, why, &got)
	}
	if got.unclear != "" {
		got.Frames = nil
	}
	return got
}

// inFileOrModule says why a question is unclear.
const inFileOrModule = "unclear: the offset may count in the file or in the module"

// countFrom finds out whether a frame of strace counts in the file, as asked, or in the module.
func (r *Resolver) countFrom(ctx context.Context, q question, got *found) {
	called := q.Adjustment.mode() == straced
	if called && got.probe.Returns || r.prober == nil {
		return
	}
	other := got.addr
	other.Space = symsrc.Linked
	switch p := r.prober.Probe(ctx, other); {
	case p.Linked == got.probe.Linked, !p.Known:
	case called && p.Calls && !p.Returns, !got.probe.Known:
		got.addr, got.probe = other, p
	default:
		got.unclear = inFileOrModule
	}
}

// doubt looks whether it makes a difference that the code may lie as far before the logged address as other says.
func (r *Resolver) doubt(ctx context.Context, other uint64, why string, got *found) {
	at := got.addr
	at.Offset += got.back - other
	if !slices.EqualFunc(got.Frames, r.opt.Symbols.Frames(ctx, at).Frames, func(a, b symsrc.Frame) bool {
		return a.Func == b.Func && a.File == b.File && a.Line == b.Line
	}) {
		got.unclear = why
	}
}

// probes reports whether the machine code is looked at for a question.
func (r *Resolver) probes(q *question) bool { return r.prober != nil && q.Adjustment.mode() != Exact }

// slot returns the slot of a question in pending. It is nil before the first look ahead.
func (s *prefetch) slot(q *question) **request {
	if s.pending == nil {
		return nil
	}
	return &s.pending[q.hash()>>40%pendingSlots]
}

// lookAhead collects the questions of the lines ahead and has other cores answer them.
func (r *Resolver) lookAhead(ctx context.Context) {
	s := &r.prefetch
	cores := runtime.GOMAXPROCS(0) - 1
	prefetcher := symsrc.PrefetcherOf(r.opt.Symbols)
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
		q, ok, stop := r.predict(s.of, line)
		if stop {
			break
		}
		if !ok || r.IsCurrent(r.memo.answers.get(&q)) {
			continue
		}
		r.watch(q.mod)
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
			expected[i].Addr = e.q.asked()
			if r.probes(&e.q) {
				expected[i].Back = e.q.Adjustment.back
			}
		}
		prefetcher.Prefetch(ctx, expected)
	}
	r.send(ctx, requests, cores)
}

// send starts goroutines that fetch the answers. They end with the last request.
func (r *Resolver) send(ctx context.Context, requests []*request, cores int) {
	for range cores {
		go func() {
			for _, e := range requests {
				if e.taken.CompareAndSwap(false, true) {
					e.got = r.fetch(ctx, e.q)
					close(e.done)
				}
			}
		}()
	}
}

// predict returns the question of a line ahead, if it is a frame like those before. stop is set if the line changes the meaning
// of the lines after it.
func (r *Resolver) predict(t *Thread, line []byte) (q question, ok, stop bool) {
	if i := bytes.Index(line, parse.OpenBraces); i >= 0 {
		bt, _, ok := markup.BTLine(line[i:])
		if !ok {
			return q, false, !bytes.HasPrefix(line[i:], btStart)
		}
		q, ok, _ = r.mappedAt(t.Process, bt.Addr, symsrc.Code, r.AdjustMarkup(t, bt.Type, false))
		return q, ok, false
	}
	if bytes.IndexByte(line, 0x1b) >= 0 || !frame.Candidate(line, false, r.prefetch.absolutes) {
		return q, false, false
	}
	s := &r.prefetch
	s.search.Reset(line)
	fr := s.search.Next(0)
	if fr == nil || fr.Done || fr.Shape == frame.NumberOnly || fr.Data {
		return q, false, false
	}
	seen := parse.Frame{Frame: *fr, ModuleText: fr.Module.Of(line), BuildIDText: fr.BuildID.Of(line), MemberText: fr.Member.Of(line), SymbolText: fr.Symbol.Of(line)}
	q, ok, absolute := r.question(t, r.prefetch.line, line, &seen)
	if absolute {
		q, ok, _ = r.mappedAt(t.Process, q.off, q.kind, q.Adjustment)
	}
	return q, ok, false
}

// rescue is deferred around a question. It turns a panic into an answer without names whose reason is the panic.
func (got *found) rescue(q question) {
	cause := recover()
	if cause == nil {
		return
	}
	*got = found{addr: q.asked(), broken: guard.Fault(cause)}
	got.Files = &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError, Note: "internal error" + got.broken}
}

// btStart is what a line with a frame of markup begins with.
var btStart = []byte("{{{bt:")
