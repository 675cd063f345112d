package filter

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long an input may stay open after an interrupt before somebody should be told.
const patience = time.Second

// DrainOnInterrupt lets the first Ctrl-C pass: it ends the producer at the other end of the pipe, and what that still has
// to say is worth reading. waiting is called when the input is still open a second later, again at the second Ctrl-C.
// restore undoes all that.
func DrainOnInterrupt(waiting, again func()) (restore func()) {
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		late := time.NewTimer(patience)
		defer late.Stop()
		for {
			select {
			case <-signals:
				again()
			case <-late.C:
				waiting()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// abandon writes what a run that waits for its input has held back, and an unfinished line. The run does not go on.
func (f *Filter) abandon() {
	f.busy.Lock()
	if f.current != nil {
		_ = f.current.finish(context.Background()) // there is nobody left to be told
	}
}

// LastWords lets signals that end the program wait until what a run holds back is written, but no longer than for a moment:
// nobody may take it. Ignored signals stay so. restore undoes that.
func (f *Filter) LastWords(deadly ...os.Signal) (restore func()) {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	for _, s := range deadly {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			f.Farewell()
			signal.Stop(signals)
			dieOf(s)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// Farewell is called from another goroutine when the program is about to end. It writes what a run holds back, if that is
// taken within a moment; the run does not go on.
func (f *Filter) Farewell() {
	written := make(chan struct{})
	go func() {
		f.abandon()
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(patience):
	}
}

// dieOf ends the program as the signal does that it caught.
func dieOf(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(patience) // it is on its way
	}
	status := 1
	if n, ok := s.(syscall.Signal); ok {
		status = 128 + int(n)
	}
	os.Exit(status)
}
