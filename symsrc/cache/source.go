package cache

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// patience is how long the cache is waited for where the engine does not know all, until it has replied again.
const patience = time.Second

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

	last atomic.Pointer[dated]

	left atomic.Int64 // of patience, in nanoseconds
	used atomic.Int64 // answers that were sent without having been asked for

	asked, answered atomic.Int64 // questions, as Hits tells of them
}

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
			s.warn("none is used: " + err.Error() + " (--cache-dir does, --no-cache goes without)")
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
	key := s.engine.appendKey(buf[:0], id.text, uint8(q.Kind), &q)
	s.asked.Add(1)
	value, got := s.look(key)
	if kept, err := decodeFrames(key, value); err == nil {
		s.answered.Add(1)
		kept.Files = id.files
		return kept
	}
	a := s.behind.Frames(ctx, q)
	keep := full(q, &a)
	if got == late && !keep { // perhaps there were better files once
		if kept, err := decodeFrames(key, s.lookPatiently(ctx, key)); err == nil {
			kept.Files = id.files
			return kept
		}
	}
	if keep && s.from(q.Module, id, a.Files) {
		s.writer.add(key, appendFrames(nil, key, a.Frames, s.made(a.Files)), a.Files)
	}
	return a
}

// Hits gives how many questions for frames the cache was asked, and how many it has answered.
func (s *Source) Hits() (asked, answered int64) { return s.asked.Load(), s.answered.Load() }

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
	key := s.engine.appendKey(buf[:0], id.text, probeKind, &q)
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
			s.writer.add(key, appendProbe(nil, key, p), files)
		}
	}
	return p
}

// Close has the cache keep what is left, and ends the connection. The Source must not be asked any more.
func (s *Source) Close() {
	if s.client == nil {
		return
	}
	s.writer.close()
	if n := s.used.Load(); n > 0 {
		s.client.tell(usedMsg, binary.AppendUvarint(nil, uint64(n)))
	}
	s.client.close()
}
