package filter

import (
	"bytes"

	"qss-filter/filter/print"

	"qss-filter/filter/resolve"
)

// observe tells the observer of an item, if there is one.
func (f *Filter) observe(t *resolve.Thread, text []byte, it *print.Item, alone bool) {
	if f.opt.Observe == nil {
		return
	}
	f.seen = it.Observation(f.line, t, text, alone)
	f.opt.Observe(&f.seen)
	if f.opt.Style == print.Append {
		it.Apart = f.seen.Apart
		for _, line := range f.seen.Below {
			it.Below = append(it.Below, bytes.Clone(line))
		}
	}
}

// observed reports whether anybody is told of frames.
func (f *Filter) observed() bool { return f.opt.Observe != nil || f.objects != nil }

// told reports whether somebody is told of each frame, or object, and none may be left out.
func (f *Filter) told() bool {
	return f.opt.Observe != nil || f.opt.JSON != nil && f.opt.JSON.Each != nil
}
