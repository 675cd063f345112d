//go:build linux || darwin

package child

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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
		// Once caught, SIGTSTP has no default action in a Go program any more; that of SIGTTOU is the same.
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

// suspend stops our whole job, since the command has stopped, and goes on when it is told to.
func (c *control) suspend() {
	c.force = nil
	c.settle()
	c.term.leave()
	c.stopUs(0, unix.SIGTSTP)
	c.resume()
}

// settle waits until what the command said before it stopped is passed on, as long as that does not take too long.
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

// resume lets the command go on as we do.
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

// resize passes the size of our terminals on.
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
