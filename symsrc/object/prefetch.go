package object

import (
	"runtime/debug"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/elf"
)

// prefetch unpacks sections in other goroutines than the one that asks.
type prefetch struct {
	once    sync.Once
	stopped atomic.Bool
	running sync.WaitGroup // all goroutines that read the file in the background
	busy    sync.WaitGroup // those that unpack sections
}

const (
	// prefetchStep is unpacked at a time, so that a question which needs no more of a section does not wait for the rest.
	prefetchStep = 1 << 20
	// maxPrefetch is the size of the largest section that is prefetched.
	maxPrefetch = 64 << 20
)

// begin begins to unpack sections that are packed, once. The largest one, .debug_info, should be left to the questions.
func (p *prefetch) begin(sections []*elf.Content) {
	p.once.Do(func() {
		for _, s := range sections {
			if s.Unpacked() == s.Size || s.Size > maxPrefetch {
				continue
			}
			p.busy.Add(1)
			p.running.Go(func() {
				defer p.busy.Done()
				p.unpack(s)
			})
		}
	})
}

// unpack unpacks a section step by step. What goes wrong is left to the questions that need the section.
func (p *prefetch) unpack(s *elf.Content) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	for n := 0; n < s.Size && !p.stopped.Load(); n += prefetchStep {
		if got := len(s.UpTo(n + prefetchStep)); got < min(n+prefetchStep, s.Size) {
			return // damaged
		}
	}
}

// stop waits for what is being unpacked, so that the file can be closed.
func (p *prefetch) stop() {
	p.stopped.Store(true)
	p.once.Do(func() {}) // it must not begin any more
	p.running.Wait()
}
