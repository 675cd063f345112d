//go:build linux || darwin

package child

import (
	"os"
	"slices"
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

// suspend stops our whole job, since the command has stopped, and goes on when somebody has us do so.
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
	loud := func(s *stream) bool { return !s.in.quiet() }
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

// stopUs stops this process, or with 0 its process group. It comes back when we are continued, or when there is nobody
// who could do so and the kernel therefore does not stop us.
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
