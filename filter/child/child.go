// Package child runs a command with its output filtered: a terminal or pipes between, signals passed on, its exit status
// kept.
//
// Where our standard output and standard error are the same file, as on a terminal or after 2>&1, they are one stream with
// one filter: two would lose the order of what the command says. Elsewhere each is a stream of its own.
//
//	child.go     Options, Run: the order of things
//	command.go   what is run, and the exit statuses
//	plumbing.go  what the command's standard files are
//	output_*.go  reads what the command writes, until no process can write any more
//	control_*.go waiting for it; job_posix.go, signals and job control
//	terminal_*.go, pump_*.go    the terminal of a command that has a session of its own
//	linger.go    the wait for processes that the command has left with its output
//	maps.go      memory maps of the command and its descendants
//	evidence_*.go, mapped_*.go  which of them tell by the address alone what is there, and which processes hold the output
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"qss-filter/filter/stream"
)

// Exit statuses of a command that did not run, as shells have them.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// Processes that the command leaves behind may write on: what they write is passed on until they are silent for Options.Linger.
// After a signal, to the command or to us, that would be too long.
const (
	// grace is how long an output may be silent, after a signal and the command's end, before a process that was left
	// behind with it is no longer waited for.
	grace = 200 * time.Millisecond
	// respite bounds the wait for those that do not fall silent then. What was there is read however long that takes.
	respite = time.Second
)

// Options say what is run, and how.
type Options struct {
	// Argv is the command and its arguments.
	Argv []string
	// New makes the stream of one output through a filter. It is called once or twice, before the command is started.
	New func() *stream.Stream
	// Stdin, Stdout and Stderr are this process's own. Where the first two are terminals, the command gets a terminal of
	// its own, with the settings of ours.
	Stdin, Stdout, Stderr *os.File
	// Maps, if not nil, follows the memory maps of the command.
	Maps *Maps
	// Linger is how long processes that the command has left with its output must be silent before the end; the zero value
	// ends as soon as what the command wrote is passed on.
	Linger time.Duration
	// Left, if not nil, is called with the processes, "" where that is not known: when they are waited for longer than
	// expected, and when they no longer are.
	Left func(processes string, waiting bool)
	// Warn, if not nil, is called with what does not end the run.
	Warn func(message string)
}

// Run runs the command to its end and returns its exit status: 128+n when signal n killed it, 127 with an error when there is
// no such command, 126 with an error when it cannot be run. An error beside another status is one of our own: then some of
// the output is lost.
//
// That the output has no reader any more is no error: its next write fails, as without us. When ctx
// is canceled the command is killed.
func Run(ctx context.Context, o Options) (status int, err error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	cmd, err := command(o.Argv)
	if err != nil {
		return failure(o.Argv, err)
	}
	p, err := connect(cmd, o)
	if err != nil {
		return exitCannotRun, fmt.Errorf("%s: %w", o.Argv[0], err)
	}
	defer p.close()
	filters := make([]*stream.Stream, len(p.streams))
	for i := range filters {
		filters[i] = o.New()
	}
	defer holdBrokenPipe()()
	c := newControl(p, o)
	defer c.stop()
	if cmd, err = start(cmd); err != nil {
		return failure(o.Argv, err)
	}
	p.started()
	if o.Maps != nil {
		defer o.Maps.follow(cmd.Process.Pid)()
	}
	errs := make([]error, len(p.streams))
	var reading sync.WaitGroup
	for i, s := range p.streams {
		reading.Go(func() { errs[i] = s.run(ctx, filters[i]) })
	}
	status, err = c.wait(ctx, cmd)
	read := make(chan struct{})
	go func() {
		reading.Wait()
		close(read)
	}()
	p.over()
	c.linger(ctx, read)
	// From here on signals do to us what they do to any program: there is no command left to pass them on to.
	c.stop()
	p.ended()
	<-read
	return status, errors.Join(append(errs, err)...)
}

// passage is one output of the command on its way through a filter.
type passage struct {
	name string // of ours, for messages
	in   *output
	out  io.Writer
}

// run filters the stream to its end.
func (s *passage) run(ctx context.Context, f *stream.Stream) error {
	defer func() { s.in.since.Store(int64(ended)) }()
	err := f.Run(ctx, s.in, s.out)
	var w *stream.WriteError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &w):
		return fmt.Errorf("read the command's output: %w", err)
	}
	s.in.abandon()
	if brokenPipe(w.Err) {
		return nil
	}
	var p *os.PathError
	if errors.As(w.Err, &p) { // its path is /dev/stdout, whatever that is
		return fmt.Errorf("write %s: %w", s.name, p.Err)
	}
	return fmt.Errorf("write %s: %w", s.name, w.Err)
}
