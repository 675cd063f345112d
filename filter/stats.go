package filter

import (
	"bytes"

	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// Stats count what a filter has done.
type Stats struct {
	// Lines are those of the log.
	Lines int
	// Frames are those that were looked at, Unresolved those of them without a name.
	Frames, Unresolved int
}

// Stats returns the counts until now.
func (f *Filter) Stats() Stats {
	t := f.Tally()
	return Stats{Lines: f.line, Frames: t.Frames, Unresolved: t.Unnamed()}
}

// Faults returns the number of lines that left as they came since the program panicked over them.
func (f *Filter) Faults() int { return f.rescued }

// Tally returns the counts of frames since the filter was made. Without Options.Count those that mean nothing to the output are not
// looked at: frames with nothing but a number, and those with nothing but an absolute address where no mappings are known.
func (f *Filter) Tally() resolve.Tally { return f.resolver.Counts.Tally }

// Ledger returns what the log says of files that no build ID verifies.
func (f *Filter) Ledger() []resolve.Entry { return f.resolver.Proofs.Ledger() }

// Summary returns what could not be resolved until now, and why. Its texts are visible ones.
func (f *Filter) Summary() resolve.Summary {
	s := f.resolver.Counts.Summary()
	if !f.text.Code.Any {
		s.NoSource = symsrc.Visible(f.text.Code.Missing)
	}
	return s
}

// Weights of things, in bytes, with what the allocator and the tables that they are in add; measured, not counted.
const filterWeight = 8 << 10

// Footprint returns about how many bytes of memory the filter keeps between lines: what it knows of processes, and what it remembers
// of lines and answers. What several filters share is not in it: the source, and the answers' own strings.
func (f *Filter) Footprint() int64 {
	n := filterWeight + f.resolver.Footprint() + f.liner.known.footprint() + f.liner.tails.footprint()
	n += f.parser.Footprint() + cap(f.stripped)
	if f.repeats != nil {
		n += f.repeats.Weight()
	}
	return int64(n)
}

// observe shows an item to the observer, if there is one.
func (f *Filter) observe(t *resolve.Thread, text []byte, it *print.Item, alone bool) {
	if f.opt.Observe == nil {
		return
	}
	f.seen = it.Observation(f.line, t, text, alone)
	f.opt.Observe(&f.seen)
	if f.opt.Below {
		it.Apart = f.seen.Apart
		for _, line := range f.seen.Below {
			it.Below = append(it.Below, bytes.Clone(line))
		}
	}
}

// observed reports whether every frame counts.
func (f *Filter) observed() bool {
	return f.opt.Observe != nil || f.opt.Count || f.objects != nil || f.brief != nil
}

// eachCounts reports whether each frame, or object, is handed to a callback, so that none may be left out.
func (f *Filter) eachCounts() bool {
	return f.opt.Observe != nil || f.opt.Read != nil || f.opt.JSON != nil && f.opt.JSON.Each != nil
}
