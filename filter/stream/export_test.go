package stream

// Continue lets the run go on after Abandon, as if it were not the end.
func (s *Stream) Continue() { s.busy.Unlock() }
