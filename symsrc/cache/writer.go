package cache

import (
	"slices"
	"sync"
	"time"

	"qss-filter/symsrc"
)

// Bounds on what waits to be written: bytes, and time until it is sent and, at the end, kept.
const (
	maxPending = 8 << 20
	sendAfter  = 100 * time.Millisecond
	closeTime  = 2 * time.Second
)

// writer has the cache keep answers, in the background.
type writer struct {
	client *client
	done   chan struct{}
	wake   chan struct{}
	ending chan struct{}

	mu      sync.Mutex
	running bool
	closing time.Time // when it has to end; zero while it goes on
	batches []batch   // the last one grows
	bytes   int
}

// batch is what is sent at once: keys and values, blobs in turn, and what watches the files that they are from.
type batch struct {
	pairs []byte
	of    []*symsrc.Watch
}

// sound tells whether the files still are what was read. So they were, then, when they were read.
func (b *batch) sound() bool { return !slices.ContainsFunc(b.of, (*symsrc.Watch).Look) }

func newWriter(c *client) *writer {
	return &writer{client: c, done: make(chan struct{}), wake: make(chan struct{}, 1), ending: make(chan struct{})}
}

// add takes one value that files are the source of. Too large ones are dropped, and others where too many wait or such a file
// has changed: they are found again.
func (w *writer) add(key, value []byte, files *symsrc.Files) {
	if len(value) > maxValue {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closing.IsZero() || w.bytes > maxPending {
		return
	}
	if !w.running {
		w.running = true
		go w.run()
	}
	n := len(w.batches)
	if n == 0 || len(w.batches[n-1].pairs)+len(key)+len(value) > putSize {
		w.batches = append(w.batches, batch{})
		n++
	}
	last := &w.batches[n-1]
	before := len(last.pairs)
	last.pairs = appendBlob(appendBlob(last.pairs, key), value)
	w.bytes += len(last.pairs) - before
	if !slices.Contains(last.of, files.Watch) {
		last.of = append(last.of, files.Watch)
	}
	w.nudge()
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run sends what comes, a while after it came, until there is nothing left after close.
func (w *writer) run() {
	defer close(w.done)
	for {
		<-w.wake
		select {
		case <-time.After(sendAfter):
		case <-w.ending:
		}
		for w.send() {
		}
		if !w.open() {
			return
		}
	}
}

func (w *writer) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closing.IsZero()
}

// send sends the first batch. It is false where there is none, or it is to be tried again later.
func (w *writer) send() bool {
	w.mu.Lock()
	if len(w.batches) == 0 {
		w.mu.Unlock()
		return false
	}
	first, until := w.batches[0], w.closing
	w.batches = w.batches[1:]
	w.bytes -= len(first.pairs)
	w.mu.Unlock()
	if !first.sound() {
		return true
	}
	if until.IsZero() {
		until = time.Now().Add(closeTime)
	}
	if w.client.keep(first.pairs, until) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append([]batch{first}, w.batches...)
	w.bytes += len(first.pairs)
	w.nudge()
	return !w.closing.IsZero() && time.Now().Before(w.closing)
}

// close sends what is left, for a bounded time.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = time.Now().Add(closeTime)
	running := w.running
	w.mu.Unlock()
	close(w.ending)
	w.nudge()
	if running {
		<-w.done
	}
}
