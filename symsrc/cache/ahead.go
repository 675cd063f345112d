package cache

import (
	"context"
	"time"

	"qss-filter/symsrc"
)

// Bounds on what was asked for ahead, and on what is known of modules, in entries.
const (
	maxAhead = 1 << 13
	maxHits  = 1 << 14
)

// ahead is what the cache has, or has not, since it was asked ahead.
type ahead struct {
	value []byte
	at    time.Time
	near  bool // it was sent because others of the module were asked for
}

// aheadTime is how long the word counts that the cache has no answer: another filter may find one.
const aheadTime = time.Second / 2

// aheads are what was asked for ahead, the newer half and the older one.
type aheads struct {
	young, old map[string]ahead
	hits       map[string]int // questions that the cache answered one by one, by the prefix of their keys
}

// get returns what is known of a key.
func (a *aheads) get(key []byte) (ahead, bool) {
	known, ok := a.young[string(key)]
	if !ok {
		known, ok = a.old[string(key)]
	}
	return known, ok && (len(known.value) > 0 || time.Since(known.at) < aheadTime)
}

// put keeps what is known of a key. The older half gives way once the newer one is full.
func (a *aheads) put(key, value []byte, at time.Time, near bool) {
	if len(a.young) >= maxAhead || a.young == nil {
		a.young, a.old = make(map[string]ahead), a.young
	}
	a.young[string(key)] = ahead{value, at, near}
}

// often is how often a module is asked for before what is kept of it is fetched at once.
const often = 4

// hit counts an answer of the cache to a question of a module, and reports, once, that there were many.
func (a *aheads) hit(prefix string) bool {
	if len(a.hits) >= maxHits || a.hits == nil {
		a.hits = make(map[string]int)
	}
	a.hits[prefix]++
	return a.hits[prefix] == often
}

// look asks the cache for one value, unless it is known whether it has that.
func (s *Source) look(m *module, key []byte) ([]byte, outcome) {
	if !s.kept.has(m.prefix) {
		return nil, without
	}
	s.mu.Lock()
	known, ok := s.ahead.get(key)
	s.mu.Unlock()
	if ok {
		if known.near {
			s.used.Add(1)
		}
		return known.value, answered
	}
	value, got := s.ask(key, askTime)
	if len(value) == 0 {
		return value, got
	}
	s.mu.Lock()
	many := s.ahead.hit(m.prefix)
	s.mu.Unlock()
	if many {
		s.near(m)
	}
	return value, got
}

// near fetches what is kept of a module, as much as is sent at once.
func (s *Source) near(m *module) {
	reply, _ := s.client.ask(nearMsg, []byte(m.prefix), askTime)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(reply) > 0 {
		key, rest, ok := cutBlob(reply)
		value, rest, ok2 := cutBlob(rest)
		if !ok || !ok2 {
			return
		}
		s.ahead.put(key, value, now, true)
		reply = rest
	}
}

// ask asks the cache for one value, nil where it has none.
func (s *Source) ask(key []byte, within time.Duration) ([]byte, outcome) {
	var buf [keySize + 2]byte
	reply, got := s.client.ask(askMsg, appendBlob(buf[:0], key), within)
	value, _, _ := cutBlob(reply)
	if got == answered {
		s.left.Store(int64(patience))
	}
	return value, got
}

// lookPatiently asks once more.
func (s *Source) lookPatiently(ctx context.Context, key []byte) []byte {
	began := time.Now()
	until := began.Add(time.Duration(s.left.Load()))
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	if s.client.settle(until) {
		if value, got := s.ask(key, time.Until(until)); got == answered {
			return value
		}
	}
	s.left.Add(-int64(time.Since(began)))
	return nil
}

// Prefetch asks the cache at once for what several questions need, so that it need not be asked for each: for what the machine
// code shows, and then for the answers. What it has no answer to is passed on to the source behind. What files of this machine
// answer is not asked for.
func (s *Source) Prefetch(ctx context.Context, qs []symsrc.Expected) {
	if len(qs) == 0 {
		return
	}
	missing := s.prefetch(ctx, qs)
	if p := symsrc.PrefetcherOf(s.behind); p != nil && len(missing) > 0 {
		p.Prefetch(ctx, missing)
	}
}

// prefetch is Prefetch but for the source behind, and returns the questions that the cache has no answer to.
func (s *Source) prefetch(ctx context.Context, qs []symsrc.Expected) (missing []symsrc.Expected) {
	if !s.begin() {
		return qs
	}
	var asked []symsrc.Expected
	var prefixes []string
	for i := range qs {
		if m := s.module(ctx, qs[i].Module); qs[i].Kind <= symsrc.Data && m.prefix != "" && !m.direct.Load() && s.kept.has(m.prefix) {
			asked, prefixes = append(asked, qs[i]), append(prefixes, m.prefix)
		} else {
			missing = append(missing, qs[i])
		}
	}
	shows := s.probesOf(ctx, asked, prefixes)
	keys := make([][]byte, len(asked))
	for i := range asked {
		q := asked[i].At(shows[i])
		keys[i] = appendKey(nil, prefixes[i], uint8(q.Kind), &q)
	}
	s.fetch(ctx, keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		if known, _ := s.ahead.get(key); len(known.value) == 0 {
			missing = append(missing, asked[i])
		}
	}
	return missing
}

// probesOf returns what the cache knows of the machine code of questions.
func (s *Source) probesOf(ctx context.Context, qs []symsrc.Expected, prefixes []string) []symsrc.Probe {
	shows := make([]symsrc.Probe, len(qs))
	if s.opt.Finder == nil {
		return shows
	}
	var keys [][]byte
	var of []int
	for i := range qs {
		if qs[i].Back != nil {
			keys, of = append(keys, appendKey(nil, prefixes[i], probeKind, &qs[i].Addr)), append(of, i)
		}
	}
	s.fetch(ctx, keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, key := range keys {
		if known, ok := s.ahead.get(key); ok {
			shows[of[n]], _ = decodeProbe(key, known.value) // else nothing is known of it
		}
	}
	return shows
}

// fetch asks for those of several keys of which nothing is known.
func (s *Source) fetch(ctx context.Context, keys [][]byte) {
	var unknown [][]byte
	s.mu.Lock()
	for _, key := range keys {
		if _, ok := s.ahead.get(key); !ok {
			unknown = append(unknown, key)
		}
	}
	s.mu.Unlock()
	for len(unknown) > 0 && ctx.Err() == nil {
		n := min(len(unknown), askKeys)
		if !s.fetchSome(unknown[:n]) {
			return
		}
		unknown = unknown[n:]
	}
}

// fetchSome asks for several values at once. It is false where no reply came.
func (s *Source) fetchSome(keys [][]byte) bool {
	body := make([]byte, 0, len(keys)*64)
	for _, key := range keys {
		body = appendBlob(body, key)
	}
	reply, got := s.client.ask(askMsg, body, askTime)
	if got != answered {
		return false
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		value, rest, ok := cutBlob(reply)
		if !ok {
			return false
		}
		s.ahead.put(key, value, now, false)
		reply = rest
	}
	return true
}
