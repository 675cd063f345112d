package cache

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// patience is how long a Source waits, in total, for a slow cache when the engine's answers are incomplete. A reply restores it.
const patience = time.Second

// Source answers queries from the wrapped source if that has local files for them. Otherwise it asks the cache before the wrapped
// source, whose answers it stores in the cache. It may be used by several goroutines at once.
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
	kept   *listing
	spool  *spool
	stored func() marks // of the database as it was when first asked

	recent  atomic.Pointer[module]
	mu      sync.Mutex
	modules map[symsrc.Module]*module
	ahead   aheads

	left atomic.Int64 // of patience, in nanoseconds

	asked, answered atomic.Int64 // the results of Hits
}

// Wrap returns a source that asks the cache before src. Nothing is opened or started before the first query that may be cached.
func Wrap(src symsrc.Source, o Options) *Source {
	s := &Source{behind: src, opt: o}
	s.left.Store(int64(patience))
	s.warned.causes = make(map[string]bool)
	return s
}

// begin sets up the cache on the first call. It reports whether there is one.
func (s *Source) begin() bool {
	s.once.Do(func() {
		if s.opt.Off || !supported {
			return
		}
		dir, err := s.opt.Directory()
		if err != nil {
			s.warn(&symsrc.AvoidableError{Option: "cache.Dir", Err: fmt.Errorf("none is used: %w", err)})
			return
		}
		s.engine = newEngineID(s.opt.Engine)
		s.modules = make(map[symsrc.Module]*module)
		s.client = newClient(&s.opt, dir, s.warn)
		s.kept = newListing(dir)
		s.spool = newSpool(dir, s.kept, s.client, s.warn)
		s.stored = sync.OnceValue(func() marks { return readMarks(filepath.Join(dir, databaseDir)) })
	})
	return s.client != nil
}

// warn reports a cause once.
func (s *Source) warn(cause error) {
	s.warned.Lock()
	defer s.warned.Unlock()
	if !s.warned.causes[cause.Error()] && s.opt.Warn != nil {
		s.warned.causes[cause.Error()] = true
		s.opt.Warn(fmt.Errorf("cache: %w", cause))
	}
}

// Frames answers one query.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Kind > symsrc.Data || !s.begin() {
		return s.behind.Frames(ctx, q)
	}
	m := s.module(ctx, q.Module)
	if m.prefix == "" {
		return s.behind.Frames(ctx, q)
	}
	if m.direct.Load() {
		a := s.behind.Frames(ctx, q)
		if !a.Partial && a.Files != nil && answersAll(a.Files) {
			if !s.has(m, uint8(q.Kind), &q) {
				s.keep(m, &q, &a, later)
			}
			return a
		}
		m.direct.Store(false) // its files were removed, or refer to others that are missing
		return s.cached(ctx, m, &q, &a)
	}
	return s.cached(ctx, m, &q, nil)
}

// cached returns the answer from the cache or, if that has none, from the wrapped source. a is the answer of the wrapped source if it
// was asked already, and nil otherwise.
func (s *Source) cached(ctx context.Context, m *module, q *symsrc.Addr, a *symsrc.Answer) symsrc.Answer {
	s.asked.Add(1)
	of := func(e entry) symsrc.Answer {
		s.answered.Add(1)
		kept := symsrc.Answer{Frames: e.frames, Files: e.source.files, Made: e.source.made}
		if m.of.BuildID == "" {
			kept.Files = m.files
		}
		return kept
	}
	wanted := m.inquire(uint8(q.Kind), q)
	e, found, got := s.look(m, wanted)
	if found {
		return of(e)
	}
	if a == nil {
		behind := s.behind.Frames(ctx, *q)
		a = &behind
	}
	if got == late && !full(q, a) { // there may have been better files earlier
		if e, found := s.lookPatiently(ctx, wanted); found {
			return of(e)
		}
	}
	s.keep(m, q, a, soon)
	return *a
}

// keep stores an answer in the cache if it is full.
func (s *Source) keep(m *module, q *symsrc.Addr, a *symsrc.Answer, u urgency) {
	if full(q, a) && m.owns(a.Files) {
		s.spool.frames(m, q, a, u)
	}
}

// has reports whether the answer to a query of that kind is stored, for what local files answer. It does not ask the cache.
func (s *Source) has(m *module, kind uint8, q *symsrc.Addr) bool {
	return s.stored().has(markOf(placeOf(m.prefix, q), q.Offset, tagOf(kind, q))) && s.kept.has(m.prefix)
}

// Hits returns how many queries for frames the cache was asked, and how many it answered.
func (s *Source) Hits() (asked, answered int64) { return s.asked.Load(), s.answered.Load() }

// Probe returns what the machine code around an address shows, if the wrapped source is a Prober.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	prober, ok := s.behind.(symsrc.Prober)
	if !ok {
		return symsrc.Probe{}
	}
	if s.opt.Finder == nil || !s.begin() {
		return prober.Probe(ctx, q)
	}
	m := s.module(ctx, q.Module)
	if m.prefix == "" {
		return prober.Probe(ctx, q)
	}
	direct := m.shows.Load()
	wanted, got := inquiry{}, without
	if !direct {
		wanted = m.inquire(probeKind, &q)
		e, found, outcome := s.look(m, wanted)
		if found {
			return e.shows
		}
		got = outcome
	}
	p := prober.Probe(ctx, q)
	switch {
	case p.Known && direct:
		if m.owns(m.files) && !s.has(m, probeKind, &q) {
			s.spool.probe(m, &q, p, m.files, later)
		}
	case p.Known:
		if files := s.opt.Finder.Find(ctx, q.Module); files.ElfStatus == symsrc.OK && m.owns(files) {
			s.spool.probe(m, &q, p, files, soon)
		}
	case direct && m.files.Watch.Look(): // its files may have been removed
		m.direct.Store(false)
		m.shows.Store(false)
		wanted = m.inquire(probeKind, &q)
		e, found, got := s.look(m, wanted)
		if !found && got == late {
			e, found = s.lookPatiently(ctx, wanted)
		}
		if found {
			return e.shows
		}
	case got == late:
		if e, found := s.lookPatiently(ctx, wanted); found {
			return e.shows
		}
	}
	return p
}

// Close writes the remaining answers to the spool, and closes the connection. The Source must not be used after that.
func (s *Source) Close() {
	if s.client == nil {
		return
	}
	s.tellHits()
	s.spool.close()
	s.client.close()
}
