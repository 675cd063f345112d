package filter

// Stats count what a filter has done.
type Stats struct {
	// Lines and Read are those of the input, Written the bytes of the output.
	Lines         int
	Read, Written int64
	// Frames are those whose module is known, Unresolved those of them without a name; in the style of llvm they are not counted.
	Frames, Unresolved int
}

// Add adds the counts of another filter.
func (s *Stats) Add(o Stats) {
	s.Lines += o.Lines
	s.Read += o.Read
	s.Written += o.Written
	s.Frames += o.Frames
	s.Unresolved += o.Unresolved
}

// Stats returns the counts until now.
func (f *Filter) Stats() Stats {
	s := f.moved
	s.Lines = f.line
	t := f.Tally()
	s.Frames += t.Frames
	s.Unresolved += t.Unresolved
	return s
}
