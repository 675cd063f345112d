package cache

import (
	"context"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// patience is how long, over all questions of a filter, the cache is waited for where the engine knows nothing.
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

	mu       sync.Mutex
	ahead    map[string]ahead
	patience time.Duration // left
	files    map[symsrc.Module]identity
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
	s := &Source{behind: src, opt: o, patience: patience}
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
	if len(a.Frames) == 0 && got == late {
		if frames, err := decodeFrames(key, s.lookPatiently(ctx, key)); err == nil {
			return symsrc.Answer{Frames: frames, Files: id.files}
		}
	}
	if full(q, &a) && s.from(ctx, q.Module, id, a.Files) {
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
		if files := s.opt.Finder.Find(ctx, q.Module); files.ElfStatus == symsrc.OK && s.from(ctx, q.Module, id, files) {
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
	return s.ask(key, askTime)
}

// ask asks the cache for one value, nil where it has none.
func (s *Source) ask(key []byte, within time.Duration) ([]byte, outcome) {
	var buf [keySize + 2]byte
	reply, got := s.client.ask(askMsg, appendBlob(buf[:0], key), within)
	value, _, _ := cutBlob(reply)
	return value, got
}

// lookPatiently asks once more where the engine knows nothing.
func (s *Source) lookPatiently(ctx context.Context, key []byte) []byte {
	s.mu.Lock()
	left := s.patience
	s.mu.Unlock()
	began := time.Now()
	until := began.Add(left)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	var value []byte
	if s.client.settle(until) {
		value, _ = s.ask(key, time.Until(until))
	}
	s.mu.Lock()
	s.patience = max(s.patience-time.Since(began), 0)
	s.mu.Unlock()
	return value
}

// Prefetch asks the cache for the answers to several questions at once, so that Frames need not ask for each.
func (s *Source) Prefetch(ctx context.Context, qs []symsrc.Addr) {
	if len(qs) == 0 || !s.begin() {
		return
	}
	var keys [][]byte
	s.mu.Lock()
	if len(s.ahead) > maxAhead {
		clear(s.ahead)
	}
	s.mu.Unlock()
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
