package filter

import (
	"os"
	"os/signal"
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
