package filter

import (
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// Stats count what a filter has done.
type Stats struct {
	// Lines are those of the log.
	Lines int
	// Frames are those whose module is known, Unresolved those of them without a name.
	Frames, Unresolved int
}

// Stats returns the counts until now.
func (f *Filter) Stats() Stats {
	t := f.Tally()
	return Stats{Lines: f.line, Frames: t.Frames, Unresolved: t.Unresolved}
}

// Faults returns the number of lines that left as they came since the program panicked over them.
func (f *Filter) Faults() int { return f.rescued }

// Tally returns the counts of frames since the filter was made.
func (f *Filter) Tally() resolve.Tally { return f.resolver.Tally() }

// Summary returns what could not be resolved until now, and why. Its texts are visible ones.
func (f *Filter) Summary() resolve.Summary {
	s := f.resolver.Summary()
	if !f.text.Code.Any {
		s.NoSource = symsrc.Visible(f.text.Code.Missing)
	}
	return s
}
