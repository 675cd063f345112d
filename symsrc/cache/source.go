package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// patience is how long the cache is waited for where the engine does not know all, until it has replied again.
const patience = time.Second

// maxAhead bounds the answers that were asked for ahead.
const maxAhead = 1 << 14

// Source answers from the cache where that can, and else from the source behind it, whose answers it has the cache keep.
// It may be used by several goroutines at once.
type Source struct {
	behind symsrc.Source
	opt    Options
	warned struct {
		sync.Mutex
		causes map[string]bool
	}

	once   sync.Once
	client *client // nil: there is no cache
	engine engineID
	writer *writer

	mu    sync.Mutex
	ahead map[string]ahead
	hits  map[string]int // questions that the cache answered one by one, by their key without the address
	files map[symsrc.Module]identity

	left atomic.Int64 // of patience, in nanoseconds
}

// ahead is what the cache has, or has not, since it was asked ahead.
type ahead struct {
	value []byte
	at    time.Time
}

// aheadTime is how long the word counts that the cache has no answer: another filter may find one.
const aheadTime = time.Second / 2

// Wrap puts the cache before a source. Nothing is opened or started before the first question that may be cached.
func Wrap(src symsrc.Source, o Options) *Source {
	s := &Source{behind: src, opt: o}
	s.left.Store(int64(patience))
	s.warned.causes = make(map[string]bool)
	return s
}

// begin sets the cache up. It is false where there is none.
func (s *Source) begin() bool {
	s.once.Do(func() {
		if s.opt.Off || !supported {
			return
		}
		dir, err := s.opt.Directory()
		if err != nil {
			s.warn("none is used: " + err.Error())
			return
		}
		s.engine = newEngineID(s.opt.Engine)
		s.ahead = make(map[string]ahead)
		s.hits = make(map[string]int)
		s.files = make(map[symsrc.Module]identity)
		s.client = newClient(&s.opt, dir, s.warn)
		s.writer = newWriter(s.client)
	})
	return s.client != nil
}

// warn says a cause, once.
func (s *Source) warn(cause string) {
	s.warned.Lock()
	defer s.warned.Unlock()
	if !s.warned.causes[cause] && s.opt.Warn != nil {
		s.warned.causes[cause] = true
		s.opt.Warn("cache: " + cause)
	}
}

// Frames answers one question.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Kind > symsrc.Data || !s.begin() {
		return s.behind.Frames(ctx, q)
	}
	id := s.identify(ctx, q.Module)
	if id.text == "" {
		return s.behind.Frames(ctx, q)
	}
	var buf [keySize]byte
	key := s.engine.appendKey(buf[:0], id.text, uint8(q.Kind), q.Space, q.Offset)
	value, got := s.look(key)
	if frames, err := decodeFrames(key, value); err == nil {
		return symsrc.Answer{Frames: frames, Files: id.files}
	}
	a := s.behind.Frames(ctx, q)
	keep := full(q, &a)
	if got == late && !keep { // perhaps there were better files once
		if frames, err := decodeFrames(key, s.lookPatiently(ctx, key)); err == nil {
			return symsrc.Answer{Frames: frames, Files: id.files}
		}
	}
	if keep && s.from(q.Module, id, a.Files) {
		s.writer.add(key, appendFrames(nil, key, a.Frames))
	}
	return a
}

// Probe says what the machine code around an address shows, if the source behind can tell.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	prober, ok := s.behind.(symsrc.Prober)
	if !ok {
		return symsrc.Probe{}
	}
	if s.opt.Finder == nil || !s.begin() {
		return prober.Probe(ctx, q)
	}
	id := s.identify(ctx, q.Module)
	if id.text == "" {
		return prober.Probe(ctx, q)
	}
	var buf [keySize]byte
	key := s.engine.appendKey(buf[:0], id.text, probeKind, q.Space, q.Offset)
	value, got := s.look(key)
	if p, err := decodeProbe(key, value); err == nil {
		return p
	}
	p := prober.Probe(ctx, q)
	if !p.Known && got == late {
		if kept, err := decodeProbe(key, s.lookPatiently(ctx, key)); err == nil {
			return kept
		}
	}
	if p.Known {
		if files := s.opt.Finder.Find(ctx, q.Module); files.ElfStatus == symsrc.OK && s.from(q.Module, id, files) {
			s.writer.add(key, appendProbe(nil, key, p))
		}
	}
	return p
}

// look asks the cache for one value, unless that has been done ahead. What the source is still to keep counts too.
func (s *Source) look(key []byte) ([]byte, outcome) {
	s.mu.Lock()
	known, ok := s.ahead[string(key)]
	s.mu.Unlock()
	if ok && (len(known.value) > 0 || time.Since(known.at) < aheadTime) {
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
		s.ahead[string(key)] = ahead{value, now}
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
func (s *Source) Prefetch(ctx context.Context, qs []symsrc.Addr) {
	if len(qs) == 0 || !s.begin() {
		return
	}
	var keys [][]byte
	for _, q := range qs {
		id := identity{}
		if q.Kind <= symsrc.Data {
			id = s.identify(ctx, q.Module)
		}
		if id.text == "" {
			continue
		}
		key := s.engine.appendKey(nil, id.text, uint8(q.Kind), q.Space, q.Offset)
		s.mu.Lock()
		known, ok := s.ahead[string(key)]
		s.mu.Unlock()
		if !ok || len(known.value) == 0 {
			keys = append(keys, key)
		}
	}
	for len(keys) > 0 && ctx.Err() == nil {
		n := min(len(keys), askKeys)
		if !s.fetch(keys[:n]) {
			return
		}
		keys = keys[n:]
	}
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
		s.ahead[string(key)] = ahead{value, now}
		reply = rest
	}
	return true
}

// Close has the cache keep what is left, and ends the connection. The Source must not be asked any more.
func (s *Source) Close() {
	if s.client == nil {
		return
	}
	s.writer.close()
	s.client.close()
}
