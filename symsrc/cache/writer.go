package cache

import (
	"sync"
	"time"
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
	batches [][]byte  // keys and values, blobs in turn; the last one grows
	bytes   int
}

func newWriter(c *client) *writer {
	return &writer{client: c, done: make(chan struct{}), wake: make(chan struct{}, 1), ending: make(chan struct{})}
}

// add takes one value. Too large ones are dropped, and others where too many wait: they are found again.
func (w *writer) add(key, value []byte) {
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
	if n == 0 || len(w.batches[n-1])+len(key)+len(value) > putSize {
		w.batches = append(w.batches, nil)
		n++
	}
	last := &w.batches[n-1]
	before := len(*last)
	*last = appendBlob(appendBlob(*last, key), value)
	w.bytes += len(*last) - before
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
	batch, until := w.batches[0], w.closing
	w.batches = w.batches[1:]
	w.bytes -= len(batch)
	w.mu.Unlock()
	if until.IsZero() {
		until = time.Now().Add(closeTime)
	}
	if w.client.keep(batch, until) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append([][]byte{batch}, w.batches...)
	w.bytes += len(batch)
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
