//go:build linux || darwin

package child

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// pump carries keys from the outer terminal to the inner one, while the outer one is ours.
type pump struct {
	t *terminal
	// pid is the command's process, which leads its session.
	pid int
	// suspend reports a key that should suspend the command. The inner terminal sends the signal, but the kernel drops
	// it for want of a parent in the session: see setpgid(2) on orphaned process groups.
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

// await waits until a descriptor is ready, the outer terminal only while it is ours. It is false at the end.
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

// read reads keys, unless the terminal was given back in the meantime: in the background that would stop us.
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

// watch looks for the key that suspends. Where a shell of the session's own has another job in the foreground, that shell
// sees to it.
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
