package chain

import (
	"context"

	"qss-filter/symsrc"
	"qss-filter/symsrc/debuginfod"
)

// ahead is a source that has servers asked for the modules of questions to come.
type ahead struct {
	symsrc.Source
	announcer debuginfod.Announcer
}

// Prefetch announces the modules of questions that are going to be asked, and passes these on.
func (a ahead) Prefetch(ctx context.Context, qs []symsrc.Expected) {
	var modules []symsrc.Module
	seen := make(map[symsrc.Module]bool)
	for i := range qs {
		if m := qs[i].Module; !seen[m] {
			seen[m] = true
			modules = append(modules, m)
		}
	}
	a.announcer.Announce(modules)
	if p := symsrc.PrefetcherOf(a.Source); p != nil {
		p.Prefetch(ctx, qs)
	}
}

// Probe says what the machine code around an address shows, if the source behind can tell.
func (a ahead) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := a.Source.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}
