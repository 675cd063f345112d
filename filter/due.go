package filter

import "qss-filter/filter/resolve"

// due is what the lines of a known frame are due to beside its text.
type due struct {
	answer *resolve.Answer
	take   resolve.Adjustment
	// unverified is set where the files of the answer were, and process is the key of the one whose frame it is: objects of
	// JSON tell both.
	unverified bool
	process    string
}

// dueTo returns what the lines of a frame are due to.
func dueTo(t *resolve.Thread, a *resolve.Answer, take resolve.Adjustment) due {
	return due{answer: a, take: take, unverified: a.Unverified(), process: t.Key}
}

// stillDue reports whether a known frame of t, whose address is to be taken so, still becomes what it became.
func (f *Filter) stillDue(d *due, t *resolve.Thread, take resolve.Adjustment) bool {
	return d.take == take && f.resolver.IsCurrent(d.answer) && d.unverified == d.answer.Unverified() && d.process == t.Key
}
