package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long a run may take to clean up after a signal, before the program ends without it: what it writes to may
// be taken by no reader.
const patience = time.Second

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
	case s := <-signals:
		signal.Stop(signals)
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
		}
		if number, ok := s.(syscall.Signal); ok {
			return 128 + int(number)
		}
		return exitInterrupted
	}
}
