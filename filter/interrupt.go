package filter

import (
	"context"
	"time"
)

// abandonWait is how long what is held back may take to be written when the program is about to end: what it is written to may have
// no reader.
const abandonWait = time.Second

// Abandon writes what a run that waits for its input holds back, and an unfinished line, if that is taken within a moment. It is
// called from another goroutine when the program is about to end; the run does not go on.
func (f *Filter) Abandon() {
	written := make(chan struct{})
	go func() {
		f.abandon()
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(abandonWait):
	}
}

func (f *Filter) abandon() {
	f.busy.Lock()
	if f.current != nil {
		_ = f.current.finish(context.Background()) // the program ends in any case
	}
}
