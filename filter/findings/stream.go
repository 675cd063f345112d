package findings

import (
	"qss-filter/filter/print"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// maxOpen bounds the stacks in memory that may go on.
const maxOpen = 1 << 12

// maxAway bounds the distance in lines of a stack from the fault that it is about.
const maxAway = 100

// Stream makes findings of the stacks of one log.
type Stream struct {
	c      *Collector
	heads  triage.Headlines
	open   map[any]*stack
	last   *Finding // the one that the log reports at the moment, nil for none
	quoted *stack   // the one whose frames the log itself states line by line, nil for none
	placed int      // the last line that states a place
	before []byte   // the line before those at hand
	single [1]symsrc.Frame
}

// stack is a stack that may go on.
type stack struct {
	run  triage.Run
	of   *Finding
	s    *Stack
	main bool // the fault's own
}

// Observe is for filter.Options.Observe.
func (st *Stream) Observe(o *print.Observation) {
	if o.Sentence || o.Data || st.placed == o.Line {
		return
	}
	s := st.open[o.Thread]
	if s == nil || !s.run.Continue(o.Line, o.Number, o.Numbered) {
		if len(st.open) >= maxOpen {
			clear(st.open)
		}
		s = st.begin(o.Line)
		s.run = triage.Begin(o.Line, o.Number, o.Numbered)
		st.open[o.Thread] = s
	}
	s.of.line = o.Line
	for _, fr := range st.c.Names.Mapped(o.Functions(&st.single)) {
		st.add(s, Frame{fr, o.Module.Name}, o.At, o.Located)
	}
}

// begin begins a stack on a line: one that is about the fault at hand, or that of another one.
func (st *Stream) begin(line int) *stack {
	about := st.heads.Above(line)
	s := &stack{s: &Stack{Kind: about.Kind}}
	f := st.last
	near := f != nil && line-f.line <= maxAway
	switch {
	case near && about == (triage.Headline{}) && f.about.Text != "" && len(f.Stacks) == 0:
		s.main = true // the log has stated the fault before, and its place
	case near && related(about, f):
	default:
		f = st.fault(about, line)
		s.main = true
	}
	if s.s.Kind == "" || s.main && f.about.Kind == triage.Fault {
		s.s.Kind = triage.Fault
	}
	s.of = f
	f.line = line
	f.Stacks = append(f.Stacks, s.s)
	return s
}

// related reports whether a stack is about a fault that has its own: where memory was allocated, who has created the thread.
func related(about triage.Headline, f *Finding) bool {
	return about.Kind != "" && about.Kind != triage.Fault && (about.Text == f.about.Text || about.Text == "") && len(f.Stacks) > 0 &&
		about.Kind != f.about.Kind
}

// fault begins a finding.
func (st *Stream) fault(about triage.Headline, line int) *Finding {
	f := &Finding{Rule: rule(about.Text), about: about, line: line}
	st.last = f
	st.c.add(f)
	return f
}

// add adds a frame to a stack.
func (st *Stream) add(s *stack, fr Frame, at uint64, located bool) {
	s.s.sign.Add(&triage.Frame{Func: fr.Func, File: fr.File, Line: fr.Line, Module: fr.Module, At: at, Located: located, Foreign: fr.Foreign}, &st.c.Names.Own)
	if st.c.Keep && len(s.s.Frames) < maxFrames {
		s.s.Frames = append(s.s.Frames, fr)
	}
	if s.main && s.of.Message == "" && fr.Func != "" {
		s.of.Message = message(s.of.about, fr.Func) // until one of the program's own comes
	}
	st.place(s, &fr)
}

// place takes a frame for the place of its stack, if it is the first one of the program's own.
func (st *Stream) place(s *stack, fr *Frame) {
	if s.s.place != nil || fr.Line <= 0 || fr.File == "" || !st.c.Names.Own.OwnFunction(&fr.Frame, fr.Module) {
		return
	}
	found := fr.Frame
	s.s.place = &found
	switch {
	case !s.main:
		if st.c.Live != nil {
			st.c.Live.Related(s.of, s.s)
		}
	case s.of.Place == nil:
		st.locate(s.of, &found)
	}
}

// locate says where a fault is.
func (st *Stream) locate(f *Finding, at *symsrc.Frame) {
	f.Place, f.Message = at, message(f.about, at.Func)
	if st.c.Live != nil {
		st.c.Live.Found(f)
	}
}
