package filter

import "qss-filter/symsrc"

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

// Tally counts the frames of a log by what became of them.
type Tally struct {
	Frames, Unresolved int
	// By counts the unresolved ones whose module is known, by the reason.
	By [symsrc.UnknownError + 1]int
}

// Tally returns the counts since the filter was made.
func (f *Filter) Tally() (t Tally) {
	t = f.memo.forgotten
	for _, m := range f.memo.modules {
		t.add(m)
	}
	return t
}

// add counts the frames of a module.
func (t *Tally) add(m *module) {
	t.Frames += m.frames
	t.Unresolved += m.unresolved
	t.By[m.status()] += m.unresolved
}

// status returns why frames of the module have no name.
func (m *module) status() symsrc.Status {
	if m.files == nil {
		return symsrc.UnknownError
	}
	return m.files.Reason()
}
