//go:build linux || darwin

package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// ownSession returns the attributes of a command that has its own session, with standard input as its terminal.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

// openTerminal makes a terminal with the size and settings of one of ours. The terminal of a session has all of
// them; one for output alone passes bytes on unchanged, since ours processes them.
func openTerminal(like *os.File, session bool) (ours, theirs *os.File, err error) {
	ours, theirs, err = pty.Open()
	if err != nil {
		return nil, nil, err
	}
	settings, err := unix.IoctlGetTermios(int(like.Fd()), getTermios)
	if err == nil {
		if !session {
			settings.Oflag &^= unix.OPOST
			settings.Lflag &^= unix.ECHO
		}
		err = unix.IoctlSetTermios(int(theirs.Fd()), setTermios, settings)
	}
	if err == nil {
		// A command that does not read must not block the pump.
		err = unix.SetNonblock(int(ours.Fd()), true)
	}
	if err != nil {
		ours.Close()
		theirs.Close()
		return nil, nil, fmt.Errorf("set a terminal up: %w", err)
	}
	_ = resize(sized{ours, like})
	return ours, theirs, nil
}

// resize sets a terminal to the size of ours, and reports whether the size has changed. The kernel informs the
// session.
func resize(s sized) (changed bool) {
	now, err := pty.GetsizeFull(s.ours)
	if err != nil {
		return false
	}
	old, err := pty.GetsizeFull(s.inner)
	if err == nil && *old == *now {
		return false
	}
	return pty.Setsize(s.inner, now) == nil
}

// terminal connects our terminal, the outer one, to that of the command's session, the inner one. While we are in the foreground, the
// outer one passes each key on unchanged: the inner one does echo, line editing and signals.
type terminal struct {
	outer, inner int
	pump         *pump

	mu sync.Mutex
	// raw is set while the outer one is in raw mode; saved are its settings before that, now its current ones.
	raw        bool
	saved, now unix.Termios
	finished   bool
}

func newTerminal(outer, inner *os.File) *terminal {
	return &terminal{outer: int(outer.Fd()), inner: int(inner.Fd())}
}

// begin starts to pass keys on to the command with that process ID, the leader of its session.
func (t *terminal) begin(pid int) error {
	p, err := startPump(t, pid)
	if err != nil {
		return err
	}
	t.pump = p
	t.enter()
	return nil
}

// finish restores the outer terminal at the end.
func (t *terminal) finish() {
	t.mu.Lock()
	t.finished = true
	t.mu.Unlock()
	t.leave()
	if t.pump != nil {
		t.pump.stop()
	}
}

// foreground reports whether we are in the foreground of the outer terminal.
func (t *terminal) foreground() bool {
	group, err := unix.IoctlGetInt(t.outer, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// enter puts the outer terminal in raw mode if we are in the foreground. In the background that would stop us.
func (t *terminal) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pump == nil || t.raw || t.finished || !t.foreground() {
		return
	}
	settings, err := unix.IoctlGetTermios(t.outer, getTermios)
	if err != nil {
		return
	}
	t.saved, t.now = *settings, *settings
	t.now.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.now.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.now.Cc[unix.VMIN], t.now.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(t.outer, setTermios, &t.now) == nil {
		t.raw = true
		t.pump.poke()
	}
}

// renew sets our mode of the outer terminal again: a shell may have changed it while we were stopped.
func (t *terminal) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw && t.foreground() {
		_ = unix.IoctlSetTermios(t.outer, setTermios, &t.now)
	}
}

// leave restores the outer terminal.
func (t *terminal) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw {
		t.raw = false
		_ = unix.IoctlSetTermios(t.outer, setTermios, &t.saved)
	}
}

// follow makes the outer terminal treat line ends like the inner one. As long as the command does not change
// that, neither do we, and our own messages look right.
func (t *terminal) follow() {
	const lines = unix.OPOST | unix.ONLCR
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.raw {
		return
	}
	inner, err := unix.IoctlGetTermios(t.inner, getTermios)
	if err != nil || inner.Oflag&lines == t.now.Oflag&lines {
		return
	}
	t.now.Oflag = t.now.Oflag&^lines | inner.Oflag&lines
	_ = unix.IoctlSetTermios(t.outer, setTermios, &t.now)
}

// writer returns a writer for f, the outer terminal as standard output.
func (t *terminal) writer(f *os.File) io.Writer { return following{t, f} }

type following struct {
	t *terminal
	*os.File
}

// Write writes the output of the inner terminal. If the outer one puts a carriage return before
// each line end, that of the inner one is left out.
func (w following) Write(b []byte) (int, error) {
	w.t.follow()
	if !bytes.Contains(b, crlf) || !w.t.returns() {
		return w.File.Write(b)
	}
	if n, err := w.File.Write(bytes.ReplaceAll(b, crlf, crlf[1:])); err != nil {
		return n, err
	}
	return len(b), nil
}

var crlf = []byte("\r\n")

// returns reports whether the outer terminal puts a carriage return before each line end.
func (t *terminal) returns() bool {
	const lines = unix.OPOST | unix.ONLCR
	settings, err := unix.IoctlGetTermios(t.outer, getTermios)
	return err == nil && settings.Oflag&lines == lines
}
