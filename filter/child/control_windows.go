package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// control waits for the command. Ctrl-C reaches the command directly; we only have to stay alive to read its last output.
type control struct {
	p          *plumbing
	o          *Options
	interrupts chan os.Signal
}

func newControl(p *plumbing, o Options) *control {
	c := &control{p: p, o: &o, interrupts: make(chan os.Signal, 1)}
	signal.Notify(c.interrupts, os.Interrupt)
	return c
}

func (c *control) stop() { signal.Stop(c.interrupts) }

// wait waits for the command to end and returns its exit status.
func (c *control) wait(ctx context.Context, cmd *exec.Cmd) (int, error) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return exited(cmd, err)
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		return exited(cmd, <-done)
	}
}

// linger waits after the command has ended, until all of the output is read, or it is silent for long enough, or Ctrl-C asks for the end.
func (c *control) linger(ctx context.Context, read <-chan struct{}) {
	left := newLingering(c.p, c.o)
	defer left.timer.Stop()
	for {
		select {
		case <-read:
			return
		case <-ctx.Done():
			return
		case <-c.interrupts:
			return
		case <-left.timer.C:
			if left.look() {
				return
			}
		}
	}
}

func exited(cmd *exec.Cmd, err error) (int, error) {
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		return exitCannotRun, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func holdBrokenPipe() (restore func()) { return func() {} }

// brokenPipe reports whether a write failed because the pipe has no reader.
func brokenPipe(err error) bool { return errors.Is(err, errNoData) || errors.Is(err, errBrokenPipe) }

// The errors of a write to a pipe without a reader.
const (
	errNoData     = syscall.Errno(232) // ERROR_NO_DATA
	errBrokenPipe = syscall.ERROR_BROKEN_PIPE
)
