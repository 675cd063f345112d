package cache

import (
	"context"
	"time"

	"qss-filter/symsrc"
)

// maxAhead bounds the answers that were asked for ahead.
const maxAhead = 1 << 14

// ahead is what the cache has, or has not, since it was asked ahead.
type ahead struct {
	value []byte
	at    time.Time
	near  bool // it was sent because others of the module were asked for
}

// aheadTime is how long the word counts that the cache has no answer: another filter may find one.
const aheadTime = time.Second / 2

// look asks the cache for one value, unless that has been done ahead.
func (s *Source) look(key []byte) ([]byte, outcome) {
	s.mu.Lock()
	known, ok := s.ahead[string(key)]
	s.mu.Unlock()
	if ok && (len(known.value) > 0 || time.Since(known.at) < aheadTime) {
		if known.near {
			s.used.Add(1)
		}
		return known.value, answered
	}
	value, got := s.ask(key, askTime)
	if len(value) > 0 && s.frequent(key[:len(key)-8]) {
		s.fetchNear(key[:len(key)-8])
	}
	return value, got
}

// soon is how often a module is asked for before what is kept of it is fetched at once.
const soon = 4

// frequent tells, once, that the cache has answered so many questions whose keys begin like that.
func (s *Source) frequent(prefix []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hits) >= maxAhead {
		clear(s.hits)
	}
	s.hits[string(prefix)]++
	return s.hits[string(prefix)] == soon
}

// fetchNear fetches what is kept of a module, as much as is sent at once.
func (s *Source) fetchNear(prefix []byte) {
	reply, _ := s.client.ask(nearMsg, prefix, askTime)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(nearKeys)
	for len(reply) > 0 {
		key, rest, ok := cutBlob(reply)
		value, rest, ok2 := cutBlob(rest)
		if !ok || !ok2 {
			return
		}
		s.ahead[string(key)] = ahead{value, now, true}
		reply = rest
	}
}

// makeRoom forgets what was asked ahead where n more would be too many. s is locked.
func (s *Source) makeRoom(n int) {
	if len(s.ahead)+n > maxAhead {
		clear(s.ahead)
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

// Prefetch asks the cache for the answers to several questions at once, so that Frames need not ask for each.
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
	var keys [][]byte
	var asked []symsrc.Expected // of which are the keys
	for i := range qs {
		q := qs[i].At(symsrc.Probe{})
		id := identity{}
		if q.Kind <= symsrc.Data {
			id = s.identify(ctx, q.Module)
		}
		if id.text == "" {
			missing = append(missing, qs[i])
			continue
		}
		key := s.engine.appendKey(nil, id.text, uint8(q.Kind), &q)
		if !s.has(key) {
			keys, asked = append(keys, key), append(asked, qs[i])
		}
	}
	for rest := keys; len(rest) > 0 && ctx.Err() == nil; {
		n := min(len(rest), askKeys)
		if !s.fetch(rest[:n]) {
			break
		}
		rest = rest[n:]
	}
	for i, key := range keys {
		if !s.has(key) {
			missing = append(missing, asked[i])
		}
	}
	return missing
}

// has reports whether an answer was asked for ahead and is there.
func (s *Source) has(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ahead[string(key)].value) > 0
}

// fetch asks for several values. It is false where no reply came.
func (s *Source) fetch(keys [][]byte) bool {
	body := make([]byte, 0, len(keys)*48)
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
	s.makeRoom(len(keys))
	for _, key := range keys {
		value, rest, ok := cutBlob(reply)
		if !ok {
			return false
		}
		s.ahead[string(key)] = ahead{value, now, false}
		reply = rest
	}
	return true
}
