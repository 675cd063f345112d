//go:build linux || darwin

package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"qss-filter/symsrc/diskcache"
)

// How long a filter tries to reach a process that it has started, or that another filter starts. Tests have others.
var (
	startTime = 3 * time.Second
	helloTime = time.Second
)

var (
	errVersion   = errors.New("it serves another version of qss-filter")
	errDying     = errors.New("its process died twice within a minute")
	errNoProgram = errors.New("no program is known that serves it")
	errTimeout   = errors.New("it does not answer")
)

// errExit is a process that ended before it served.
type errExit struct{ code exitCode }

func (e errExit) Error() string { return e.code.reason() }

// reach connects to the process that serves dir, and starts it where there is none. note says what was wrong with its
// files. A process that dies before it serves is started once more.
func reach(o *Options, dir string) (l *link, note string, err error) {
	if err := diskcache.MakeRoot(dir); err != nil {
		return nil, "", err
	}
	deadline := time.Now().Add(startTime)
	var ended <-chan exitCode
	for wait := time.Millisecond; ; wait = min(2*wait, 8*time.Millisecond) {
		l, note, err := greet(o, dir)
		if err == nil || errors.Is(err, errVersion) || errors.Is(err, errOtherUser) {
			return l, note, err
		}
		if ended == nil && holder(dir) == 0 {
			if !mayStart(dir) {
				return nil, "", errDying
			}
			if ended, err = start(o, dir); err != nil {
				return nil, "", err
			}
		}
		select {
		case code := <-ended:
			switch code {
			case exitServed, exitBusy: // another one lives, or has gone idle already
				time.Sleep(wait)
			case exitFiles, exitFull, exitSocket, exitBadger:
				return nil, "", errExit{code}
			}
			ended = nil
		case <-time.After(wait):
		}
		if time.Now().After(deadline) {
			return nil, "", errTimeout
		}
	}
}

// greet connects and agrees on the protocol.
func greet(o *Options, dir string) (*link, string, error) {
	conn, err := dial(dir)
	if err != nil {
		return nil, "", err
	}
	l := &link{conn: conn}
	hello := binary.AppendUvarint(binary.AppendUvarint(nil, protocol), uint64(o.Max))
	var reply message
	err = conn.SetReadDeadline(time.Now().Add(helloTime))
	if err == nil {
		err = l.send(helloMsg, 0, hello, helloTime)
	}
	if err == nil {
		reply, err = l.receive()
	}
	version, n := binary.Uvarint(reply.body)
	if err == nil && (n <= 0 || version != protocol) {
		err = errVersion
	}
	_, n2 := binary.Uvarint(reply.body[max(n, 0):])
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, "", fmt.Errorf("greet the cache: %w", err)
	}
	return l, string(reply.body[n+max(n2, 0):]), nil
}

// start starts the cache process, so that what waits for this one does not wait for it: in a session of its own, at the root, with
// no descriptor of ours. ended returns its exit code, once.
func start(o *Options, dir string) (ended <-chan exitCode, err error) {
	if o.Program == nil {
		return nil, errNoProgram
	}
	args := o.Program(dir, o.max())
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none") // which has no reader
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the cache: %w", err)
	}
	codes := make(chan exitCode, 1)
	go func() {
		err := cmd.Wait()
		code := exitCode(-1)
		if state := cmd.ProcessState; state != nil && (err == nil || state.Exited()) {
			code = exitCode(state.ExitCode())
		}
		codes <- code
	}()
	return codes, nil
}
