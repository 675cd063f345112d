//go:build linux || darwin

package child

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// output reads what the command writes to a pipe or a terminal. It ends when no process can write any more; and once it should
// end, when what was there is read and those left behind are silent, or go on for too long.
type output struct {
	file *os.File
	tty  bool
	fd   int
	maps *Maps
	// link identifies the command's end of it for other processes.
	link string
	// since is when, by clock, the Read began to wait that waits now: what was read before has been passed on. It is 0 while none
	// waits.
	since atomic.Int64

	// stop is a pipe that is closed when the output should end, which poll(2) sees.
	stop, stopped *os.File
	// session is set for the terminal of a session that the command leads. The kernel hangs it up when the command ends:
	// no other process can write to it then.
	session bool
	// lost is set when what is read can no longer be passed on, alone once the command has ended.
	lost, alone atomic.Bool
	// late is the time when the output was seen to be about to end, zero before.
	late time.Time
	// owed is how many of the bytes that were there at that time are still to be read.
	owed int
}

func newOutput(file *os.File, tty bool, maps *Maps) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &output{file: file, tty: tty, fd: int(file.Fd()), stop: w, stopped: r, maps: maps}, nil
}

// over is called once the command has ended.
func (o *output) over() {
	if o.alone.Store(true); o.session || o.lost.Load() {
		o.end()
	}
}

// end lets the output end as soon as those left behind are silent.
func (o *output) end() { o.stop.Close() }

// SyscallConn makes the filter poll the file.
func (o *output) SyscallConn() (syscall.RawConn, error) { return o.file.SyscallConn() }

// Read reads what there is, and waits for it.
func (o *output) Read(b []byte) (int, error) {
	for {
		ready, err := o.await()
		if err != nil {
			return 0, err
		}
		if !ready {
			continue
		}
		n, err := unix.Read(o.fd, b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err == unix.EIO && o.tty, err == nil && n == 0: // a terminal that no process has open any more
			return 0, io.EOF
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		}
		o.owed -= n
		o.maps.touch()
		return n, nil
	}
}

// await waits until the output can be read or should end. Its error is io.EOF when nothing more is to be expected.
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

// quiet reports whether all that the command has written has been passed on. The kernel may still have what was written to a
// terminal: it hands that on in its own time.
func (o *output) quiet() bool {
	since := o.since.Load()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(o.fd), Events: unix.POLLIN}}, 0)
	// A Read that waits no more, or again, may have read it and not passed it on yet.
	return since != 0 && (err != nil || n == 0) && o.since.Load() == since
}

// abandon is called when the output can no longer be passed on. A process that writes to a pipe gets SIGPIPE; a terminal
// has no such means but a hangup, so that what it still gets is read and dropped.
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
