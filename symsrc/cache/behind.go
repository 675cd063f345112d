package cache

import (
	"context"

	"qss-filter/symsrc"
)

// prefetcher is a source that wants to know what it will be asked.
type prefetcher interface {
	Prefetch(ctx context.Context, qs []symsrc.Addr)
}

// passOn tells the source behind of questions to come, one for each module, where the cache has no answer to that.
func (s *Source) passOn(ctx context.Context, qs []symsrc.Addr) {
	p, ok := s.behind.(prefetcher)
	if !ok {
		return
	}
	seen := make(map[symsrc.Module]bool)
	var open []symsrc.Addr
	for _, q := range qs {
		if !seen[q.Module] {
			seen[q.Module] = true
			if !s.has(ctx, q) {
				open = append(open, q)
			}
		}
	}
	if len(open) > 0 {
		p.Prefetch(ctx, open)
	}
}

// has reports whether the answer to a question is known to be in the cache.
func (s *Source) has(ctx context.Context, q symsrc.Addr) bool {
	if q.Kind > symsrc.Data || !s.begin() {
		return false
	}
	id := s.identify(ctx, q.Module)
	if id.text == "" {
		return false
	}
	key := s.engine.appendKey(nil, id.text, uint8(q.Kind), &q)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ahead[string(key)].value) > 0
}
