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

// Prefetch announces the modules of questions that are going to be asked.
func (a ahead) Prefetch(_ context.Context, qs []symsrc.Addr) {
	var modules []symsrc.Module
	seen := make(map[symsrc.Module]bool)
	for _, q := range qs {
		if !seen[q.Module] {
			seen[q.Module] = true
			modules = append(modules, q.Module)
		}
	}
	a.announcer.Announce(modules)
}

// Probe says what the machine code around an address shows, if the source behind can tell.
func (a ahead) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := a.Source.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}
