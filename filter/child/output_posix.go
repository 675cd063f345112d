//go:build linux || darwin

package child

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// output reads what the command writes to a pipe or a terminal. It ends when no process can write any more. After end was called,
// it ends when what was there is read and the processes left behind are silent, or continue for too long.
type output struct {
	file *os.File
	tty  bool
	fd   int
	maps *Maps
	// link identifies the command's end in /proc.
	link string
	// since is the time, by clock, at which the current Read began to wait: everything read before has been passed on. It is 0 while
	// no Read waits.
	since atomic.Int64

	// stop is a pipe that is closed when the output should end, so that poll(2) returns.
	stop, stopped *os.File
	// session is set for the terminal of a session that the command leads. The kernel hangs it up when the command ends:
	// no other process can write to it then.
	session bool
	// lost is set when output can no longer be passed on, alone when the command has ended.
	lost, alone atomic.Bool
	// late is the time at which the end was noticed, zero before.
	late time.Time
	// owed is how many of the bytes that were there at that time must still be read.
	owed int
}

func newOutput(file *os.File, tty bool, maps *Maps) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &output{file: file, tty: tty, fd: int(file.Fd()), stop: w, stopped: r, maps: maps}, nil
}

// over is called after the command has ended.
func (o *output) over() {
	if o.alone.Store(true); o.session || o.lost.Load() {
		o.end()
	}
}

// end lets the output end as soon as the processes left behind are silent.
func (o *output) end() { o.stop.Close() }

// SyscallConn lets the stream poll the file.
func (o *output) SyscallConn() (syscall.RawConn, error) { return o.file.SyscallConn() }

// Read waits for output and reads it.
func (o *output) Read(b []byte) (int, error) {
	for {
		ready, err := o.await()
		if err != nil {
			return 0, err
		}
		if !ready {
			continue
		}
		o.maps.touch()
		n, err := unix.Read(o.fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err == unix.EIO && o.tty, err == nil && n == 0: // no process has the terminal open any more
			return 0, io.EOF
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		}
		o.owed -= n
		return n, nil
	}
}

// await waits until the output can be read or should end. Its error is io.EOF when no more output is expected.
func (o *output) await() (ready bool, err error) {
	fds := []unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}, {Fd: int32(o.stopped.Fd()), Events: unix.POLLIN}}
	wait := -1
	if !o.late.IsZero() {
		if o.owed <= 0 && time.Since(o.late) > respite {
			return false, io.EOF
		}
		fds, wait = fds[:1], int(grace/time.Millisecond)
	}
	o.since.Store(int64(clock()))
	n, err := unix.Poll(fds, wait)
	o.since.Store(0)
	switch {
	case err == unix.EINTR:
		return false, nil
	case err != nil:
		return false, os.NewSyscallError("poll", err)
	case n == 0:
		return false, io.EOF
	}
	if o.late.IsZero() && fds[1].Revents != 0 {
		o.late = time.Now()
		if o.owed, err = unix.IoctlGetInt(o.fd, fionread); err != nil {
			o.owed = 0
		}
	}
	return fds[0].Revents != 0, nil
}

// quiet reports whether all of the command's output has been passed on. For a terminal, the kernel may still have
// some of it.
func (o *output) quiet() bool {
	since := o.since.Load()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}}, 0)
	// If the Read no longer waits, or waits again, it may have read bytes that are not passed on yet.
	return since != 0 && (err != nil || n == 0) && o.since.Load() == since
}

// abandon is called when the output can no longer be passed on. A process that writes to a pipe gets SIGPIPE. A terminal
// could only hang up, so its further output is read and dropped.
func (o *output) abandon() {
	if !o.tty {
		o.close()
		return
	}
	if o.lost.Store(true); o.alone.Load() {
		o.end()
	}
	_, _ = io.Copy(io.Discard, struct{ io.Reader }{o})
}

func (o *output) close() {
	o.end()
	o.stopped.Close()
	o.file.Close()
}

// pump copies keys from the outer terminal to the inner one, while we have the outer one.
type pump struct {
	t *terminal
	// pid is the command's process ID; it is the leader of its session.
	pid int
	// suspend signals a key that should suspend the command. The inner terminal sends the signal, but the kernel drops
	// it, since there is no parent in the session: see setpgid(2) on orphaned process groups.
	suspend chan struct{}

	wake     *os.File // one byte: look at terminal.raw again; closed: end
	wakeRead *os.File
	running  sync.WaitGroup
}

func startPump(t *terminal, pid int) (*pump, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	p := &pump{t: t, pid: pid, suspend: make(chan struct{}, 1), wake: w, wakeRead: r}
	p.running.Go(p.run)
	return p, nil
}

func (p *pump) poke() { _, _ = p.wake.Write([]byte{0}) }

func (p *pump) stop() {
	p.wake.Close()
	p.running.Wait()
	p.wakeRead.Close()
}

func (p *pump) run() {
	keys := make([]byte, 4096)
	for p.await(p.t.outer, unix.POLLIN) {
		n, ok := p.read(keys)
		if !ok {
			return
		}
		for part := keys[:n]; len(part) > 0; {
			p.watch(part)
			k, err := unix.Write(p.t.inner, part)
			switch {
			case err == nil:
				part = part[k:]
			case err == unix.EAGAIN:
				if !p.await(p.t.inner, unix.POLLOUT) {
					return
				}
			case err != unix.EINTR:
				return
			}
		}
	}
}

// await waits until a descriptor is ready, the outer terminal only while we have it. It returns false at the end.
func (p *pump) await(fd int, event int16) bool {
	wake := int(p.wakeRead.Fd())
	for {
		p.t.mu.Lock()
		idle := fd == p.t.outer && !p.t.raw
		p.t.mu.Unlock()
		fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(fd), Events: event}}
		if idle {
			fds = fds[:1]
		}
		if _, err := unix.Poll(fds, -1); err != nil {
			if err == unix.EINTR {
				continue
			}
			return false
		}
		if fds[0].Revents != 0 {
			var b [1]byte
			if n, err := unix.Read(wake, b[:]); n == 0 && err == nil {
				return false
			}
			continue
		}
		return true
	}
}

// read reads keys, unless the terminal has been restored: in the background a read would stop us.
func (p *pump) read(b []byte) (n int, ok bool) {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	fds := []unix.PollFd{{Fd: int32(p.t.outer), Events: unix.POLLIN}}
	if ready, err := unix.Poll(fds, 0); !p.t.raw || err != nil || ready == 0 {
		return 0, true
	}
	n, err := unix.Read(p.t.outer, b)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return 0, true
	case err != nil || n == 0: // the terminal is gone
		return 0, false
	}
	return n, true
}

// watch looks for the key that suspends. If a shell inside the session has another job in the foreground, that shell handles
// the key.
func (p *pump) watch(keys []byte) {
	settings, err := unix.IoctlGetTermios(p.t.inner, getTermios)
	if err != nil || settings.Lflag&unix.ISIG == 0 || settings.Cc[unix.VSUSP] == 0 {
		return
	}
	for _, k := range keys {
		if k != settings.Cc[unix.VSUSP] {
			continue
		}
		if group, err := unix.IoctlGetInt(p.t.inner, unix.TIOCGPGRP); err == nil && group == p.pid {
			select {
			case p.suspend <- struct{}{}:
			default:
			}
		}
		return
	}
}
