package symsrc

import (
	"context"
	"strings"
)

// Mangled returns a source whose answers name functions as their files do, without demangling.
func Mangled(s Source) Source {
	if p, ok := s.(Prober); ok {
		return struct {
			mangled
			Prober
		}{mangled{s}, p}
	}
	return mangled{s}
}

type mangled struct{ behind Source }

// Prefetcher returns that of the source behind.
func (m mangled) Prefetcher() Prefetcher { return PrefetcherOf(m.behind) }

// Frames answers one question.
func (m mangled) Frames(ctx context.Context, q Addr) Answer {
	a := m.behind.Frames(ctx, q)
	if len(a.Frames) == 0 {
		return a
	}
	frames := make([]Frame, len(a.Frames)) // for those of the answer are shared
	copy(frames, a.Frames)
	for i := range frames {
		if name, _, _ := strings.Cut(frames[i].Linkage, "@"); name != "" {
			frames[i].Func = name
		}
	}
	a.Frames = frames
	return a
}
