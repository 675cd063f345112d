package object

import (
	"qss-filter/symsrc/elf"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// ahead unpacks sections beside the goroutine that asks, which is busy with others.
type ahead struct {
	once    sync.Once
	stopped atomic.Bool
	running sync.WaitGroup
	busy    sync.WaitGroup // with sections
}

const (
	aheadStep = 1 << 20 // is unpacked at a time, so that who needs no more of a section does not wait for the rest
	maxAhead  = 64 << 20
)

// unpackAhead begins to unpack what all but the first question of a file need, unless that is very large or not packed.
// The largest section, .debug_info, is left to those who ask.
func (f *File) unpackAhead() {
	f.ahead.once.Do(func() {
		for _, s := range f.dwarf.Early() {
			if s.Unpacked() == s.Size || s.Size > maxAhead {
				continue
			}
			f.ahead.busy.Add(1)
			f.ahead.running.Go(func() {
				defer f.ahead.busy.Done()
				f.unpackAll(s)
			})
		}
	})
}

// unpackAll unpacks a section step by step. What goes wrong is left to those who ask for the section.
func (f *File) unpackAll(s *elf.Content) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	for n := 0; n < s.Size && !f.ahead.stopped.Load(); n += aheadStep {
		if got := len(s.UpTo(n + aheadStep)); got < min(n+aheadStep, s.Size) {
			return // damaged
		}
	}
}

// stop waits for what is being unpacked, so that the file can be closed.
func (a *ahead) stop() {
	a.stopped.Store(true)
	a.once.Do(func() {}) // it must not begin any more
	a.running.Wait()
}
