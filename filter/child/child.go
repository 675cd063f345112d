// Package child runs a command and filters its output. It connects the command through a terminal or pipes, passes signals on, and
// returns the command's exit status.
//
// Where our standard output and standard error are the same file, as on a terminal or after 2>&1, they are one stream with
// one filter: with two the order of the command's output would be lost. Otherwise each is a separate stream.
//
//	child.go      Options, Run: what is run, the exit statuses, and the command's standard files
//	output_*.go   reads what the command writes, until no process can write any more
//	control_*.go  waits for the command; signals and job control
//	terminal_*.go the terminal of a command that has a session of its own
//	linger.go     the wait for processes that the command has left with its output
//	maps.go       memory maps of the command and its descendants
//	record_*.go, loading_*.go  the kernel's records, and tracing where these are not permitted
//	evidence_*.go, mapped_*.go  which mappings identify a file by the address alone, and which processes hold the output
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"qss-filter/filter/stream"
)

// Exit statuses of a command that did not run, as shells have them.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// Processes that the command leaves behind may continue to write. Their output is passed on until they are silent for Options.Linger.
// After a signal, to the command or to us, that is too long.
const (
	// grace is how long to wait for the output of processes that were left behind, after a signal and the command's end.
	grace = 200 * time.Millisecond
	// respite bounds the wait for processes that are not silent then. Output that was there before is read to its end.
	respite = time.Second
)

// Options say what is run, and how.
type Options struct {
	// Argv is the command and its arguments.
	Argv []string
	// New returns a new stream through a filter, for one output. It is called once or twice, before the command is started.
	New func() *stream.Stream
	// Stdin, Stdout and Stderr are this process's own. If the first two are terminals, the command gets a separate terminal with
	// the settings of ours.
	Stdin, Stdout, Stderr *os.File
	// Maps, if not nil, follows the memory maps of the command.
	Maps *Maps
	// Linger is how long processes that the command has left behind must be silent before the run ends. If it is 0, the run ends as
	// soon as the command's own output is passed on.
	Linger time.Duration
	// Left, if not nil, is called with the names of these processes, "" if they are not known: when the wait for them is longer than
	// expected, and when it ends.
	Left func(processes string, waiting bool)
	// Warn, if not nil, is called with problems that do not end the run.
	Warn func(message string)
}

// Run runs the command to its end and returns its exit status: 128+n when signal n killed it, 127 with an error when there is
// no such command, 126 with an error when it cannot be run. An error with another status is one of our own: some of
// the output is then lost.
//
// A broken pipe at our output is not an error: the command's next write fails, as it would without us. When ctx
// is canceled, the command is killed.
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
	if o.Maps == nil {
		cmd, err = start(cmd)
	} else {
		var stop func()
		stop, err = o.Maps.start(func(traced bool) (pid int, is bool, err error) {
			if cmd, is, err = startTraced(cmd, traced); err != nil {
				return 0, false, err
			}
			return cmd.Process.Pid, is, nil
		})
		if err == nil {
			defer stop()
		}
	}
	if err != nil {
		return failure(o.Argv, err)
	}
	p.started()
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
	// From here on signals have their default effect: there is no command to pass them on to.
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

var errNoCommand = errors.New("no command")

// command finds the command.
func command(argv []string) (*exec.Cmd, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errNoCommand
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	// A "." in PATH is the user's own choice; on Windows it is there always.
	if errors.Is(cmd.Err, exec.ErrDot) && runtime.GOOS != "windows" {
		cmd.Err = nil
		return cmd, nil
	}
	if cmd.Err == nil { // a path has not been checked yet
		_, cmd.Err = exec.LookPath(cmd.Path)
	}
	return cmd, cmd.Err
}

// start starts the command. A text file that names no interpreter is run by the shell, as shells and execvp(3) do.
func start(cmd *exec.Cmd) (*exec.Cmd, error) {
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) && isText(cmd.Path) {
		cmd = another(cmd, "/bin/sh", append([]string{"/bin/sh", cmd.Path}, cmd.Args[1:]...))
		err = cmd.Start()
	}
	if errors.Is(err, fs.ErrNotExist) {
		// The file was found, so its interpreter is missing.
		err = errors.New("its interpreter or dynamic linker does not exist")
	}
	return cmd, err
}

// startTraced is start for a command that is to be traced, if that is possible and permitted, and reports whether it is.
func startTraced(cmd *exec.Cmd, traced bool) (_ *exec.Cmd, is bool, err error) {
	if !traced || !setTraced(cmd, true) {
		cmd, err = start(cmd)
		return cmd, false, err
	}
	first, err := start(cmd)
	if err == nil {
		return first, true, nil
	}
	cmd = another(cmd, cmd.Path, cmd.Args)
	setTraced(cmd, false)
	cmd, err = start(cmd)
	return cmd, false, err
}

// another returns a command with the files of cmd.
func another(cmd *exec.Cmd, path string, args []string) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: args, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, SysProcAttr: cmd.SysProcAttr}
}

// isText reports whether the beginning of a file has no NUL.
func isText(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 512))
	return err == nil && bytes.IndexByte(head, 0) < 0
}

// failure returns the exit status and the message for a command that did not run.
func failure(argv []string, err error) (int, error) {
	if errors.Is(err, errNoCommand) {
		return exitNotFound, err
	}
	name := argv[0]
	var ofPath *fs.PathError
	var ofExec *exec.Error
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return exitNotFound, fmt.Errorf("%s: command not found", name)
	case errors.Is(err, fs.ErrNotExist):
		return exitNotFound, fmt.Errorf("%s: no such file or directory", name)
	case errors.As(err, &ofExec):
		err = ofExec.Err
	case errors.As(err, &ofPath):
		err = ofPath.Err
	}
	return exitCannotRun, fmt.Errorf("%s: %w", name, err)
}

// plumbing connects the command's standard files to ours.
type plumbing struct {
	streams []*passage
	// term is the terminal of a command with its own session; nil otherwise.
	term *terminal
	// sized are terminals that have the size of one of ours.
	sized []sized
	// theirs are the command's ends, which only the command should keep open.
	theirs []*os.File
}

// sized is a terminal with the one of ours whose size it has.
type sized struct{ inner, ours *os.File }

// connect makes the command's standard files. Standard input is ours, unless the command gets a terminal.
func connect(cmd *exec.Cmd, o Options) (p *plumbing, err error) {
	p = &plumbing{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	cmd.Stdin = o.Stdin
	out, err := p.stream("standard output", o.Stdout, o)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if p.streams[0].in.tty && isTerminal(o.Stdin) {
		cmd.Stdin = out
		first := p.streams[0]
		first.in.session = true
		p.term = newTerminal(o.Stdin, first.in.file)
		first.out = p.term.writer(o.Stdout)
		cmd.SysProcAttr = ownSession()
	}
	if !sameFile(o.Stdout, o.Stderr) {
		if cmd.Stderr, err = p.stream("standard error", o.Stderr, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// stream makes the stream that ends in to, one of our own files, and returns the end of it that the command writes to.
func (p *plumbing) stream(name string, to *os.File, o Options) (theirs *os.File, err error) {
	var ours *os.File
	tty := isTerminal(to)
	if tty {
		whole := to == o.Stdout && isTerminal(o.Stdin)
		if ours, theirs, err = openTerminal(to, whole); err != nil {
			o.Warn(fmt.Sprintf("no terminal for the command, so it writes to a pipe: %v", err))
			tty = false
		}
	}
	if !tty {
		if ours, theirs, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	p.theirs = append(p.theirs, theirs)
	in, err := newOutput(ours, tty, o.Maps)
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	in.link = linkOf(theirs)
	if tty {
		p.sized = append(p.sized, sized{ours, to})
	}
	p.streams = append(p.streams, &passage{name: name, in: in, out: io.Writer(to)})
	return theirs, nil
}

// started is called after the command has inherited its ends.
func (p *plumbing) started() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

// over is called after the command has ended: output that cannot be passed on need not be read any more.
func (p *plumbing) over() {
	for _, s := range p.streams {
		s.in.over()
	}
}

// ended is called after the wait for processes that were left behind: the rest of the output is read within grace.
func (p *plumbing) ended() {
	for _, s := range p.streams {
		s.in.end()
	}
}

func (p *plumbing) close() {
	p.started()
	for _, s := range p.streams {
		s.in.close()
	}
}

// sameFile reports whether two descriptors are of one file, pipe or terminal.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
