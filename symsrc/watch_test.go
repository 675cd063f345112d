package symsrc

import "testing"

// TestWatch: what one look has seen counts for all, and no other look follows.
func TestWatch(t *testing.T) {
	var none *Watch
	if none.Look() || none.Changed() {
		t.Error("nothing has changed")
	}
	looks, changed := 0, false
	w := NewWatch(func() bool { looks++; return changed })
	for i, step := range []struct {
		changed, look, seen bool
		looks               int
	}{
		{false, false, false, 0},
		{false, true, false, 1},
		{true, false, false, 1},
		{true, true, true, 2},
		{false, true, true, 2},
	} {
		changed = step.changed
		if step.look && w.Look() != step.seen || w.Changed() != step.seen || looks != step.looks {
			t.Errorf("step %d: %v after %d looks", i, w.Changed(), looks)
		}
	}
}
