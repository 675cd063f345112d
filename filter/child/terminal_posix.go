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

// ownSession is for a command whose standard input is its terminal.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

// openTerminal makes a terminal with the size and settings of one of ours. As the terminal of a session it has all of
// them; for output alone it passes bytes as they are, since ours will do to them what is to be done.
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
		// The pump must not be held by a command that does not read.
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

// resize sets a terminal to the size of ours, and reports whether that is another one than it had. A session is told by the
// kernel.
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

// terminal joins ours, the outer one, to that of the command's session, the inner one. While we are in the foreground the
// outer one hands each key on as it is: echo, lines and signals are the inner one's business.
type terminal struct {
	outer, inner int
	pump         *pump

	mu sync.Mutex
	// raw is set while the outer one is so; saved are then its settings from before, now those that it has.
	raw        bool
	saved, now unix.Termios
	finished   bool
}

func newTerminal(outer, inner *os.File) *terminal {
	return &terminal{outer: int(outer.Fd()), inner: int(inner.Fd())}
}

// begin starts to pass keys on to the command, whose process and session that is.
func (t *terminal) begin(pid int) error {
	p, err := startPump(t, pid)
	if err != nil {
		return err
	}
	t.pump = p
	t.enter()
	return nil
}

// finish restores the outer terminal for good.
func (t *terminal) finish() {
	t.mu.Lock()
	t.finished = true
	t.mu.Unlock()
	t.leave()
	if t.pump != nil {
		t.pump.stop()
	}
}

// foreground reports whether the keys of the outer terminal are for us.
func (t *terminal) foreground() bool {
	group, err := unix.IoctlGetInt(t.outer, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// enter takes the outer terminal over if we are in the foreground. In the background that would stop us.
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

// renew sets the outer terminal again as we have it: a shell may have changed it while we were stopped unawares.
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

// follow lets the outer terminal treat line ends as the command has set the inner one to. As long as a command leaves
// that alone, so do we, and messages of our own look as they should.
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

// writer returns f, the outer terminal as standard output.
func (t *terminal) writer(f *os.File) io.Writer { return following{t, f} }

type following struct {
	t *terminal
	*os.File
}

// Write writes what the inner terminal has made of the command's output. Where the outer one puts a carriage return before
// each line end, too, that of the inner one is left out.
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
