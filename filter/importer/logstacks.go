package importer

import (
	"context"

	"qss-filter/filter/print"
)

const (
	// maxBetween is how many lines may come between two frames of a stack whose frames have no numbers.
	maxBetween = 3
	// maxOpen is how many threads may have a stack that goes on. With more of them that which waits longest ends.
	maxOpen = 1 << 12
)

// LogStacks makes a profile of the stacks in a log: each stack is one sample.
type LogStacks struct {
	profile *Profile
	open    map[any]*logStack // by thread
	// next, if not nil, is called with each frame too.
	next func(*print.Observation)
}

// logStack is a stack that may go on.
type logStack struct {
	calls  []Call
	number uint64
	line   int
}

// NewLogStacks makes one without stacks. What it observes is passed on to next, if that is not nil.
func NewLogStacks(next func(*print.Observation)) *LogStacks {
	return &LogStacks{profile: NewProfile(ValueKind{"samples", "count"}), open: map[any]*logStack{}, next: next}
}

// Observe takes a frame of the log.
func (s *LogStacks) Observe(o *print.Observation) {
	if s.next != nil {
		s.next(o)
	}
	if o.Sentence || o.Data || !o.Located && len(o.Frames) == 0 {
		return
	}
	st := s.open[o.Thread]
	if st == nil {
		if len(s.open) >= maxOpen {
			s.endOldest()
		}
		st = &logStack{}
		s.open[o.Thread] = st
	}
	if o.Numbered && o.Number <= st.number || !o.Numbered && o.Line > st.line+maxBetween {
		s.end(st)
	}
	if len(st.calls) < maxDepth { // the innermost ones come first
		st.calls = append(st.calls, Call{Module: o.Module, Addr: o.At, Frames: o.Frames})
	}
	st.number, st.line = o.Number, o.Line
}

func (s *LogStacks) end(st *logStack) {
	if len(st.calls) > 0 {
		s.profile.Add(st.calls, 1)
		st.calls = st.calls[:0]
	}
}

// endOldest ends the stack that had no frame for the longest time.
func (s *LogStacks) endOldest() {
	var oldest any
	for thread, st := range s.open {
		if oldest == nil || st.line < s.open[oldest].line {
			oldest = thread
		}
	}
	s.end(s.open[oldest])
	delete(s.open, oldest)
}

// Save ends the stacks and writes the profile to the files that the options name.
func (s *LogStacks) Save(ctx context.Context, o *Options) error {
	defer s.profile.Close()
	for _, st := range s.open {
		s.end(st)
	}
	err := o.Save(ctx, s.profile)
	for _, note := range s.profile.notes() {
		o.warn(note)
	}
	return err
}
