package filter

// due is what the lines of a known frame are due to beside its text.
type due struct {
	answer *answer
	take   taking
	// unverified is set where the files of the answer were, and process is the key of the one whose frame it is: objects of
	// JSON tell both.
	unverified bool
	process    string
}

// dueTo returns what the lines of a frame are due to.
func dueTo(t *thread, a *answer, take taking) due {
	return due{answer: a, take: take, unverified: a.unverified(), process: t.key}
}

// stillDue reports whether a known frame of t, whose address is to be taken so, still becomes what it became.
func (f *Filter) stillDue(d *due, t *thread, take taking) bool {
	return d.take == take && f.stands(d.answer) && d.unverified == d.answer.unverified() && d.process == t.key
}
