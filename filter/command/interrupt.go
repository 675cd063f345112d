package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"qss-filter/filter/stream"
)

// patience is how long a run may take to clean up after a signal, before the program ends without it: what it writes to may
// be taken by no reader.
const patience = time.Second

// exitInterrupted is how a shell reports a death by SIGINT.
const exitInterrupted = 128 + 2

// untilSignal runs what leaves no files behind when its context ends, which a signal does. The status is then that of a death
// by it, as a shell reports it. A second signal ends the program at once. Ignored signals stay so.
func untilSignal(run func(context.Context) (status int)) (status int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx) }()
	select {
	case status := <-ended:
		return status
	case sig := <-signals:
		signal.Stop(signals)
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
		}
		if number, ok := sig.(syscall.Signal); ok {
			return 128 + int(number)
		}
		return exitInterrupted
	}
}

// drainOnInterrupt lets the first Ctrl-C pass: it ends the producer at the other end of the pipe, and what that still writes is worth
// reading. waiting is called when the input is still open a second later, again at the second Ctrl-C. restore undoes all that.
func drainOnInterrupt(waiting, again func()) (restore func()) {
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

// drain lets the first Ctrl-C end the producer of the input only. abandon is called before the second one ends the program.
func drain(abandon func()) (restore func()) {
	return drainOnInterrupt(func() {
		if isTerminal(os.Stderr) {
			complain("the input is still open; Ctrl-C again stops at once")
		}
	}, func() {
		abandon()
		os.Exit(exitInterrupted)
	})
}

// abandonOn lets signals that end the program wait until what s holds back is written, but no longer than for a moment. Ignored
// signals stay so. restore undoes that.
func abandonOn(s *stream.Stream, deadly ...os.Signal) (restore func()) {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	for _, sig := range deadly {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		select {
		case sig := <-signals:
			s.Abandon(patience)
			signal.Stop(signals)
			dieOf(sig)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
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
