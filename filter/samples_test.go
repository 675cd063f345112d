package filter_test

import (
	"context"

	"qss-filter/symsrc"
)

// nothing is a source that knows nothing.
type nothing struct{}

func (nothing) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}}
}
