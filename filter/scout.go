package filter

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"sync/atomic"

	"qss-filter/filter/frame"
	"qss-filter/filter/linecache"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// How far a scout looks, in bytes and in questions, and how few questions are not worth a goroutine.
const (
	scoutText    = 256 << 10
	maxErrands   = 512
	leastErrands = 8

	pendingSlots = 4 * maxErrands
	maxVain      = 1 << 12
)

// scout looks ahead over the lines that have arrived already, where a question is new, and has other cores answer those
// that will be asked next. The order of the output stays: whoever asks takes the answer, waits for it, or finds it himself.
type scout struct {
	// rest is what stands behind the line at hand in the chunk, of whose thread it is likely to be.
	rest []byte
	of   *thread
	// left is how much of the chunk was not looked at.
	left int
	// idle is how many new questions are let pass before the next look ahead: the more looks in vain, the more.
	idle, vain int
	// pending holds the errands that nobody has asked for, each in the slot of its question.
	pending []*errand
	search  frame.Search
}

// errand is one question on its way.
type errand struct {
	q question
	// generation is that of the question's module.
	generation uint64

	taken atomic.Bool
	done  chan struct{}
	got   found
}

// found is what is known of a question: how its address was taken, and the answer there.
type found struct {
	probe symsrc.Probe
	addr  symsrc.Addr
	back  uint64
	symsrc.Answer
	// broken says that the program has panicked over the question, and where; "" where it has not.
	broken string
}

// chunk begins another chunk.
func (s *scout) chunk() { s.left = math.MaxInt }

// at tells what stands behind the line at hand.
func (s *scout) at(rest []byte, t *thread) { s.rest, s.of = rest, t }

// seek answers a question, or takes the answer that another core has found.
func (f *Filter) seek(ctx context.Context, q question) found {
	s := &f.scout
	slot := s.slot(&q)
	if len(s.rest) > 0 && len(s.rest) <= s.left && (slot == nil || *slot == nil) {
		if s.idle--; s.idle < 0 {
			f.lookOut(ctx)
			slot = s.slot(&q)
		}
	}
	got := f.await(ctx, slot, q)
	if got.broken != "" {
		f.broken(got.broken)
	}
	return got
}

// await waits for the answer of another core where one has it, and asks the source otherwise.
func (f *Filter) await(ctx context.Context, slot **errand, q question) found {
	if slot == nil || *slot == nil || (*slot).q != q || (*slot).generation != q.mod.generation {
		return f.fetch(ctx, q)
	}
	e := *slot
	*slot = nil
	if e.taken.CompareAndSwap(false, true) {
		return f.fetch(ctx, q)
	}
	<-e.done
	return e.got
}

// fetch asks the source. It may be called by several goroutines at once.
func (f *Filter) fetch(ctx context.Context, q question) (got found) {
	defer got.rescue(q)
	got.addr = q.asked()
	if f.probes(&q) {
		got.probe = f.prober.Probe(ctx, got.addr)
	}
	got.back = q.take.back(got.probe)
	got.addr.Offset -= got.back
	got.Answer = f.opt.Symbols.Frames(ctx, got.addr)
	return got
}

// probes reports whether the machine code is looked at for a question.
func (f *Filter) probes(q *question) bool { return f.prober != nil && q.take.how() != exactly }

// slot is the place of a question among what is pending, nil where nothing ever was.
func (s *scout) slot(q *question) **errand {
	if s.pending == nil {
		return nil
	}
	return &s.pending[q.hash()>>40%pendingSlots]
}

// lookOut gathers the questions of the lines ahead and sends for their answers.
func (f *Filter) lookOut(ctx context.Context) {
	s := &f.scout
	cores := runtime.GOMAXPROCS(0) - 1
	prefetcher := symsrc.PrefetcherOf(f.opt.Symbols)
	if cores == 0 && prefetcher == nil {
		s.left = -1
		return
	}
	if s.pending == nil {
		s.pending = make([]*errand, pendingSlots)
	}
	clear(s.pending)
	var errands []*errand
	text := s.rest[:min(len(s.rest), scoutText)]
	for len(text) > 0 && len(errands) < maxErrands {
		at := f.candidates.Next(text, 0)
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
		q, ok, stop := f.foresee(s.of, line)
		if stop {
			break
		}
		if !ok || f.stands(f.memo.answers.get(&q)) {
			continue
		}
		f.watch(q.mod)
		if slot := s.slot(&q); *slot == nil {
			*slot = &errand{q: q, generation: q.mod.generation, done: make(chan struct{})}
			errands = append(errands, *slot)
		}
	}
	s.left = max(0, len(s.rest)-min(len(s.rest), scoutText)) + len(text)
	if len(errands) < leastErrands {
		clear(s.pending)
		s.vain = min(2*s.vain+leastErrands, maxVain)
		s.idle = s.vain
		return
	}
	s.idle, s.vain = 0, 0
	if prefetcher != nil {
		expected := make([]symsrc.Expected, len(errands))
		for i, e := range errands {
			expected[i].Addr = e.q.asked()
			if f.probes(&e.q) {
				expected[i].Back = e.q.take.back
			}
		}
		prefetcher.Prefetch(ctx, expected)
	}
	f.send(ctx, errands, cores)
}

// send lets other cores run the errands. They end by themselves, with the last one.
func (f *Filter) send(ctx context.Context, errands []*errand, cores int) {
	for range cores {
		go func() {
			for _, e := range errands {
				if e.taken.CompareAndSwap(false, true) {
					e.got = f.fetch(ctx, e.q)
					close(e.done)
				}
			}
		}()
	}
}

// foresee tells what a line ahead is going to ask, if it is a frame like those before. stop is set where what it says changes
// what lines behind it mean.
func (f *Filter) foresee(t *thread, line []byte) (q question, ok, stop bool) {
	if i := bytes.Index(line, openBraces); i >= 0 {
		bt, _, ok := markup.BTLine(line[i:])
		if !ok {
			return q, false, !bytes.HasPrefix(line[i:], linecache.BTStart)
		}
		q, ok, _ = f.mappedAt(t.process, bt.Addr, symsrc.Code, f.takeMarkup(t, bt.Type, false))
		return q, ok, false
	}
	if bytes.IndexByte(line, 0x1b) >= 0 || !frame.Candidate(line, false, f.absolutes()) {
		return q, false, false
	}
	s := &f.scout
	s.search.Reset(line)
	fr := s.search.Next(0)
	if fr == nil || fr.Done || fr.Shape == frame.NumberOnly || fr.Data {
		return q, false, false
	}
	seen := sighting{Frame: *fr, module: fr.Module.Of(line), buildID: fr.BuildID.Of(line), member: fr.Member.Of(line), symbol: fr.Symbol.Of(line)}
	q, ok, absolute := f.question(t, line, &seen)
	if absolute {
		q, ok, _ = f.mappedAt(t.process, q.off, q.kind, q.take)
	}
	return q, ok, false
}
