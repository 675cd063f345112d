package object

import (
	"runtime/debug"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/elf"
)

// prefetch unpacks sections in the background.
type prefetch struct {
	once    sync.Once
	stopped atomic.Bool
	running sync.WaitGroup // all goroutines that read the file in the background
	busy    sync.WaitGroup // those that unpack sections
}

const (
	// prefetchStep is the number of bytes unpacked at once, so that a query that needs a part of a section does not wait for the
	// rest.
	prefetchStep = 1 << 20
	// maxPrefetch is the size of the largest section that is prefetched, in bytes.
	maxPrefetch = 64 << 20
)

// begin starts to unpack compressed sections, once.
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

// unpack unpacks a section step by step. It ignores errors, because a query that needs the section gets them, too.
func (p *prefetch) unpack(s *elf.Content) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	for n := 0; n < s.Size && !p.stopped.Load(); n += prefetchStep {
		if got := len(s.UpTo(n + prefetchStep)); got < min(n+prefetchStep, s.Size) {
			return // damaged
		}
	}
}

// stop stops the background goroutines and waits for them, so that the file can be closed.
func (p *prefetch) stop() {
	p.stopped.Store(true)
	p.once.Do(func() {}) // begin must not start anything afterwards
	p.running.Wait()
}
