//go:build linux || darwin

package child

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// suspending is how long a command has to stop by itself at Ctrl-Z.
	suspending = 50 * time.Millisecond
	// resuming is how long a command that could not be stopped continues before the next try, and maxStops the number of tries.
	resuming = 5 * time.Millisecond
	maxStops = 100
	// stopping is how long it may take until our own process stops, if it does.
	stopping = 100 * time.Millisecond
	// settling bounds the time until a stopped command's output is passed on. calmLooks is how many times in a row, a
	// millisecond apart, none must be left.
	settling  = time.Second
	calmLooks = 5
	// lookout is how often a background job checks whether it has been moved to the foreground.
	lookout = 250 * time.Millisecond
)

// passed are the signals that are passed on to the command.
var passed = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH,
}

// deadly are those that ask the command to end.
var deadly = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// control waits for the command and passes signals on. Without a session of its own the command is in our
// process group: a terminal sends its signals to both.
type control struct {
	p       *plumbing
	term    *terminal
	signals chan os.Signal
	// stops signals that the leader of the session has stopped.
	stops chan struct{}
	// force is set while a command is expected to stop, and stopped counts the signals that were sent for that.
	force   <-chan time.Time
	stopped int
	ended   sync.Once
	// asked is set when a signal has asked the command or us to end.
	asked bool
	o     *Options

	mu  sync.Mutex
	pid int // 0 once the process is gone, and its number perhaps another's
}

func newControl(p *plumbing, o Options) *control {
	c := &control{p: p, term: p.term, signals: make(chan os.Signal, 16), stops: make(chan struct{}, 1), o: &o}
	for _, s := range passed {
		if !signal.Ignored(s) { // as nohup has it for SIGHUP; the command inherits that
			signal.Notify(c.signals, s)
		}
	}
	// At Ctrl-Z the kernel stops us with the rest of our process group. In the background we have to pass that on.
	if p.term == nil && !inForeground() && !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(c.signals, unix.SIGTSTP)
	}
	return c
}

// stop restores signals and the terminal.
func (c *control) stop() {
	c.giveBack()
	signal.Stop(c.signals)
}

// giveBack restores the terminal.
func (c *control) giveBack() {
	c.ended.Do(func() {
		if c.term != nil {
			c.term.finish()
		}
	})
}

// linger waits after the command has ended, until all of the output is read, or it is silent for long enough, or a signal asks for the
// end.
func (c *control) linger(ctx context.Context, read <-chan struct{}) {
	c.giveBack()
	left := newLingering(c.p, c.o)
	defer left.timer.Stop()
	for !c.asked {
		select {
		case <-read:
			return
		case <-ctx.Done():
			return
		case s := <-c.signals:
			c.signal(s)
		case <-left.timer.C:
			if left.look() {
				return
			}
		}
	}
}

type result struct {
	status syscall.WaitStatus
	err    error
}

// wait waits for the command to end and returns its exit status.
func (c *control) wait(ctx context.Context, cmd *exec.Cmd) (int, error) {
	pid := cmd.Process.Pid
	c.pid = pid
	defer func() { _ = cmd.Process.Release() }()
	var suspend <-chan struct{}
	var look <-chan time.Time
	var err error
	if c.term != nil {
		if err = c.term.begin(pid); err == nil {
			suspend = c.term.pump.suspend
		}
		ticks := time.NewTicker(lookout)
		defer ticks.Stop()
		look = ticks.C
	}
	done := make(chan result, 1)
	go c.reap(pid, done)
	cancel := ctx.Done()
	for {
		select {
		case s := <-c.signals:
			c.signal(s)
		case <-suspend:
			c.force, c.stopped = time.After(suspending), 0
		case <-c.force:
			c.force = nil
			if !ignores(pid, unix.SIGTSTP) {
				c.forceStop()
			}
		case <-c.stops:
			c.suspend()
		case <-look:
			c.term.enter()
		case <-cancel:
			cancel = nil
			c.kill(unix.SIGKILL)
		case r := <-done:
			return exitStatus(r), errors.Join(err, r.err)
		}
	}
}

// forceStop stops the command, or lets it continue briefly if it did not stop: a process that has called vfork(2) stops only after its
// child has called execve(2), and the child has stopped before that.
func (c *control) forceStop() {
	switch c.stopped++; {
	case c.stopped > 2*maxStops:
		c.killGroup(unix.SIGCONT)
	case c.stopped%2 == 1:
		c.killGroup(unix.SIGSTOP)
		c.force = time.After(suspending)
	default:
		c.killGroup(unix.SIGCONT)
		c.force = time.After(resuming)
	}
}

// reap waits for the process. Only the parent learns that the leader of a session has stopped.
func (c *control) reap(pid int, done chan<- result) {
	c.o.Maps.free()
	options := 0
	if c.term != nil {
		options = unix.WUNTRACED
	}
	for {
		var r result
		_, r.err = syscall.Wait4(pid, &r.status, options, nil)
		switch {
		case r.err == syscall.EINTR:
		case r.err == nil && r.status.Stopped():
			select {
			case c.stops <- struct{}{}:
			default:
			}
		default:
			c.mu.Lock()
			c.pid = 0
			c.mu.Unlock()
			r.err = os.NewSyscallError("wait4", r.err)
			done <- r
			return
		}
	}
}

func exitStatus(r result) int {
	switch {
	case r.err != nil:
		return exitCannotRun
	case r.status.Signaled():
		return 128 + int(r.status.Signal())
	}
	return r.status.ExitStatus()
}

// kill sends a signal to the command, if it still runs.
func (c *control) kill(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid != 0 {
		_ = unix.Kill(c.pid, s)
	}
}

// killGroup sends a signal to the initial process group of the leader of a session.
func (c *control) killGroup(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid != 0 {
		_ = unix.Kill(-c.pid, s)
	}
}

// holdBrokenPipe makes writes to a pipe without a reader fail with an error, instead of ending us: the command must get the signal
// itself.
func holdBrokenPipe() (restore func()) {
	held := make(chan os.Signal, 1)
	signal.Notify(held, unix.SIGPIPE)
	return func() { signal.Stop(held) }
}

// brokenPipe reports whether a write failed because the pipe has no reader, or because the terminal is gone.
func brokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EIO) }

// signal handles a signal that we got.
func (c *control) signal(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	c.asked = c.asked || slices.Contains(deadly, os.Signal(sig))
	switch sig {
	case unix.SIGWINCH:
		c.resize()
	case unix.SIGCONT:
		c.resume()
	case unix.SIGTSTP:
		if !inForeground() {
			c.kill(sig)
		}
		// Once caught, SIGTSTP never has its default action in a Go program again; that of SIGTTOU is the same.
		c.stopUs(unix.Getpid(), unix.SIGTTOU)
		c.resume()
	case unix.SIGINT, unix.SIGQUIT:
		if c.term == nil && inForeground() {
			return
		}
		c.kill(sig)
	default:
		c.kill(sig)
	}
}

// suspend stops our whole job, since the command has stopped, and returns when it is continued.
func (c *control) suspend() {
	c.force = nil
	c.settle()
	c.term.leave()
	c.stopUs(0, unix.SIGTSTP)
	c.resume()
}

// settle waits until the output of the stopped command is passed on, within settling.
func (c *control) settle() {
	late := time.Now().Add(settling)
	loud := func(s *passage) bool { return !s.in.quiet() }
	for calm := 0; calm < calmLooks && time.Now().Before(late); calm++ {
		if slices.ContainsFunc(c.p.streams, loud) {
			calm = -1
		}
		time.Sleep(time.Millisecond)
	}
}

// resume continues the command.
func (c *control) resume() {
	c.resize()
	if c.term == nil {
		c.kill(unix.SIGCONT)
		return
	}
	c.term.renew()
	c.term.enter()
	c.killGroup(unix.SIGCONT)
}

// stopUs stops this process, or with 0 its process group. It returns when we are continued, or when there is no shell
// that could do so and the kernel therefore does not stop us.
func (c *control) stopUs(pid int, s syscall.Signal) {
	if unix.Kill(pid, s) != nil {
		return
	}
	late := time.After(stopping)
	for {
		select {
		case s := <-c.signals:
			if s == unix.SIGCONT {
				return
			}
			c.signal(s)
		case <-late:
			return
		}
	}
}

// resize passes the sizes of our terminals on.
func (c *control) resize() {
	for _, s := range c.p.sized {
		if resize(s) && c.term == nil {
			c.kill(unix.SIGWINCH)
		}
	}
}

// inForeground reports whether we are in the foreground of our terminal, whose keys then send signals to our whole process
// group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ignores reports whether a process ignores a signal, as shells do with those of job control. It is known where there is a
// /proc: the line `SigIgn:` of status is a mask of 16 hexadecimal digits, bit 0 for signal 1; see proc_pid_status(5).
func ignores(pid int, s syscall.Signal) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, after, ok := bytes.Cut(status, []byte("\nSigIgn:"))
	if !ok {
		return false
	}
	digits, _, _ := bytes.Cut(after, []byte("\n"))
	mask, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 64)
	return err == nil && mask>>(uint(s)-1)&1 != 0
}
