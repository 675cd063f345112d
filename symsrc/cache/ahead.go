package cache

import (
	"context"
	"encoding/binary"
	"time"

	"qss-filter/symsrc"
)

// maxAhead bounds each half of the known pages, in bytes.
const maxAhead = 16 << 20

// ahead is a page that the cache has sent, nil if it has none.
type ahead struct {
	page *page
	at   time.Time
}

// aheadTime is how long the cache is assumed to have no answer after it had none: another filter may find one.
const aheadTime = time.Second / 2

// aheads are the known pages by their keys: a newer half and an older one.
type aheads struct {
	young, old map[string]ahead
	size       int // bytes of young
}

// get returns the page of that key and the entry of a query in it. known is true if the cache need not be asked.
func (a *aheads) get(key []byte, at uint64, tag uint8) (p *page, s spot, known bool) {
	one, ok := a.young[string(key)]
	if !ok {
		if one, ok = a.old[string(key)]; !ok {
			return nil, spot{}, false
		}
	}
	if one.page != nil {
		if s, ok := one.page.find(at, tag); ok {
			return one.page, s, true
		}
	}
	return nil, spot{}, time.Since(one.at) < aheadTime
}

// put keeps the page of a key. Once the newer half is full, it replaces the older one.
func (a *aheads) put(key []byte, p *page) {
	if a.size >= maxAhead || a.young == nil {
		a.young, a.old, a.size = make(map[string]ahead), a.young, 0
	}
	a.young[string(key)] = ahead{p, time.Now()}
	a.size += len(key) + 100
	if p != nil {
		a.size += p.footprint()
	}
}

// inquiry is a query as the cache has it.
type inquiry struct {
	key []byte // of its page
	at  uint64
	tag uint8
}

// inquire returns the inquiry of that kind about an address.
func (m *module) inquire(kind uint8, q *symsrc.Addr) inquiry {
	return inquiry{appendKey(nil, placeOf(m.prefix, q), q.Offset), q.Offset, tagOf(kind, q)}
}

// look returns the entry of a query. It asks the cache unless it is known whether the cache has one.
func (s *Source) look(m *module, q inquiry) (entry, bool, outcome) {
	if !s.kept.has(m.prefix) {
		return entry{}, false, without
	}
	if e, found, known := s.recall(q); known {
		return e, found, answered
	}
	got := s.ask([][]byte{q.key}, askTime)
	e, found, _ := s.recall(q)
	return e, found, got
}

// recall returns what is known about a query, without asking the cache.
func (s *Source) recall(q inquiry) (e entry, found, known bool) {
	s.mu.Lock()
	p, at, known := s.ahead.get(q.key, q.at, q.tag)
	s.mu.Unlock()
	if p == nil {
		return entry{}, false, known
	}
	e, err := p.read(at, nil)
	return e, err == nil, known
}

// ask asks the cache for pages, and remembers them, also those that it does not have.
func (s *Source) ask(keys [][]byte, within time.Duration) outcome {
	body := make([]byte, 0, len(keys)*64)
	for _, key := range keys {
		body = appendBlob(body, key)
	}
	reply, got := s.client.ask(askMsg, body, within)
	if got != answered {
		return got
	}
	s.left.Store(int64(patience))
	for _, key := range keys {
		value, rest, ok := cutBlob(reply)
		if !ok {
			break
		}
		reply = rest
		p, err := openPage(key, value)
		if err != nil {
			p = nil
		}
		s.mu.Lock()
		s.ahead.put(key, p)
		s.mu.Unlock()
	}
	return answered
}

// lookPatiently asks again, and waits for longer.
func (s *Source) lookPatiently(ctx context.Context, q inquiry) (e entry, found bool) {
	began := time.Now()
	until := began.Add(time.Duration(s.left.Load()))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	if s.client.settle(until) && s.ask([][]byte{q.key}, time.Until(until)) == answered {
		e, found, _ = s.recall(q)
		return e, found
	}
	s.left.Add(-int64(time.Since(began)))
	return entry{}, false
}

// Prefetch sends the queries to the cache in two steps: first for what the machine code shows, then for the answers.
// It passes queries without an answer on to the next source. Queries that local files answer are not sent to the cache.
func (s *Source) Prefetch(ctx context.Context, qs []symsrc.Expected) (helps bool) {
	if len(qs) == 0 {
		return false
	}
	behind := symsrc.PrefetcherOf(s.behind)
	missing, helps := s.prefetch(ctx, qs, behind != nil)
	if len(missing) > 0 && behind != nil {
		return behind.Prefetch(ctx, missing) || helps
	}
	return helps
}

// prefetch is Prefetch without the next source. It returns the queries that the cache cannot answer, if wantMissing is set, and reports
// whether the cache was asked.
func (s *Source) prefetch(ctx context.Context, qs []symsrc.Expected, wantMissing bool) (missing []symsrc.Expected, did bool) {
	if !s.begin() {
		return qs, false
	}
	var asked, direct []symsrc.Expected
	var modules, ofDirect []*module
	var before *module
	listed := false
	for i := range qs {
		m := s.module(ctx, qs[i].Module)
		if m != before {
			before, listed = m, m.prefix != "" && s.kept.has(m.prefix)
		}
		kept := listed && qs[i].Kind <= symsrc.Data
		if kept && !m.direct.Load() {
			asked, modules = append(asked, qs[i]), append(modules, m)
			continue
		}
		if kept && s.opt.Finder != nil && qs[i].Back != nil && !m.shows.Load() { // a debug file answers, and has no code
			direct, ofDirect = append(direct, qs[i]), append(ofDirect, m)
		}
		if wantMissing {
			missing = append(missing, qs[i])
		}
	}
	shows := s.probesOf(ctx, append(asked, direct...), append(modules, ofDirect...))
	if len(asked) == 0 {
		return missing, false
	}
	wanted := make([]inquiry, len(asked))
	for i := range asked {
		q := asked[i].At(shows[i])
		wanted[i] = modules[i].inquire(uint8(q.Kind), &q)
	}
	s.fetch(ctx, wanted)
	for i := range wanted {
		if wantMissing && !s.holds(wanted[i]) {
			missing = append(missing, asked[i])
		}
	}
	return missing, true
}

// holds reports whether the answer to a query is known.
func (s *Source) holds(q inquiry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _, _ := s.ahead.get(q.key, q.at, q.tag)
	return p != nil
}

// probesOf returns what the cache knows about the machine code at the addresses of queries. It does not ask if a local file has the
// code: the answer is then usually in the same page.
func (s *Source) probesOf(ctx context.Context, qs []symsrc.Expected, modules []*module) []symsrc.Probe {
	shows := make([]symsrc.Probe, len(qs))
	if s.opt.Finder == nil {
		return shows
	}
	var wanted []inquiry
	var of []int
	for i := range qs {
		if qs[i].Back != nil && !modules[i].shows.Load() {
			wanted, of = append(wanted, modules[i].inquire(probeKind, &qs[i].Addr)), append(of, i)
		}
	}
	s.fetch(ctx, wanted)
	for n, q := range wanted {
		e, _, _ := s.recall(q)
		shows[of[n]] = e.shows // zero if it is not known
	}
	return shows
}

// fetch asks for the pages of the queries about which nothing is known.
func (s *Source) fetch(ctx context.Context, wanted []inquiry) {
	var unknown [][]byte
	twice := make(map[string]bool)
	s.mu.Lock()
	for _, q := range wanted {
		if _, _, known := s.ahead.get(q.key, q.at, q.tag); !known && !twice[string(q.key)] {
			twice[string(q.key)] = true
			unknown = append(unknown, q.key)
		}
	}
	s.mu.Unlock()
	for len(unknown) > 0 && ctx.Err() == nil {
		n := min(len(unknown), askKeys)
		if s.ask(unknown[:n], askTime) != answered {
			return
		}
		unknown = unknown[n:]
	}
}

// tellHits reports the numbers of queries and answers to the cache process.
func (s *Source) tellHits() {
	if asked, answered := s.Hits(); asked > 0 {
		s.client.tell(hitsMsg, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(asked)), uint64(answered)))
	}
}
