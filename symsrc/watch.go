package symsrc

import "sync/atomic"

// Watch reports whether files are still those that were found, as they were. A nil Watch has nothing to look at. It may be used
// by several goroutines at once.
type Watch struct {
	look    func() bool
	changed atomic.Bool
}

// NewWatch makes a Watch whose look at the disk is look: true where a file is another one by now.
func NewWatch(look func() bool) *Watch { return &Watch{look: look} }

// Look looks at the disk, a few microseconds of work, and reports whether anything has changed.
func (w *Watch) Look() bool {
	if w == nil {
		return false
	}
	if !w.changed.Load() && w.look() {
		w.changed.Store(true)
	}
	return w.changed.Load()
}

// Changed reports whether a Look of anybody's has seen a change.
func (w *Watch) Changed() bool { return w != nil && w.changed.Load() }
