//go:build unix

package stream

import (
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// polled is a pauser for readers that poll(2) can watch, such as an *os.File. It needs no goroutine and no copy.
type polled struct {
	io.Reader
	fd int32
}

// newPauser returns a pauser that reads from in.
func newPauser(in io.Reader) pauser {
	file, ok := in.(syscall.Conn)
	if !ok {
		return newReadAhead(in)
	}
	// File.Fd would switch the descriptor to blocking mode.
	conn, err := file.SyscallConn()
	if err != nil {
		return newReadAhead(in)
	}
	p := &polled{Reader: in}
	if conn.Control(func(fd uintptr) { p.fd = int32(fd); widen(fd) }) != nil {
		return newReadAhead(in)
	}
	return p
}

func (p *polled) ready(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		fds := []unix.PollFd{{Fd: p.fd, Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(0, time.Until(deadline)+time.Millisecond-1)/time.Millisecond))
		if err == unix.EINTR {
			continue
		}
		// What cannot be polled is read: a read that waits is better than one that never comes.
		return n > 0 || err != nil
	}
}

func (p *polled) stop() {}
