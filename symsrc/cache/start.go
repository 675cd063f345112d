//go:build linux || darwin

package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qss-filter/symsrc/diskcache"
)

// How long a filter tries to reach a process that it or another filter has started. Tests use other values.
var (
	startTime = 3 * time.Second
	helloTime = time.Second
)

var (
	errVersion   = errors.New("it serves another version of qss-filter")
	errDying     = errors.New("its process died twice within a minute")
	errNoProgram = errors.New("there is no program to serve it")
	errTimeout   = errors.New("it does not answer")
)

// errExit is the error for a process that ended before it served.
type errExit struct{ code exitCode }

func (e errExit) Error() string { return e.code.reason() }

// reach connects to the process that serves dir, and starts one if there is none. note says what was wrong with its
// files. A process that dies before it serves is started again once.
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
			case exitServed, exitBusy: // another one runs, or has ended already
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

// greet connects and checks that the protocol is the same.
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

// start starts the cache process. ended receives its exit code once.
func start(o *Options, dir string) (ended <-chan exitCode, err error) {
	if o.Program == nil {
		return nil, errNoProgram
	}
	cmd, err := Detach(o.Program(dir, o.max()))
	if err != nil {
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

// Detach starts a program in a session of its own, at the root, without inherited descriptors, so that nothing that waits for this
// process waits for it too.
func Detach(args []string) (*exec.Cmd, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none") // nothing reads its standard error
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// Background closes the descriptors that a process has inherited after Detach, and gives it the lowest priority.
func Background() {
	closeInherited()
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, 19) // of all threads; otherwise it is a little less polite
}

// exitCode is the exit status of a cache process. It says why the process does not serve, since the process has no standard error.
type exitCode int

const (
	exitServed exitCode = 0
	exitBusy   exitCode = 10 + iota // another process serves the directory
	exitFiles                       // the directory cannot be used
	exitFull                        // the disk is nearly full
	exitSocket                      // the socket cannot be made
	exitBadger                      // the database cannot be opened, not even a new one
)

// reason describes why the process ended.
func (c exitCode) reason() string {
	switch c {
	case exitFiles:
		return "its files cannot be written"
	case exitFull:
		return fmt.Sprintf("less than %d MiB are free on its disk", (diskReserve+24<<20)>>20)
	case exitSocket:
		return "its socket cannot be made"
	case exitBadger:
		return "its database cannot be opened"
	}
	return "its process ended"
}

// session is the right to serve a directory.
type session struct {
	dir  string
	lock *os.File
	note string // for the user, about the previous session
}

// begin locks the directory, and removes the files of a session that died or of another version.
func begin(dir string) (*session, exitCode) {
	if err := diskcache.MakeRoot(dir); err != nil {
		return nil, exitFiles
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, exitFiles
	}
	s := &session{dir: dir, lock: lock}
	if err := takeLock(lock); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EAGAIN) {
			return nil, exitBusy
		}
		return nil, exitFiles
	}
	if err := s.clear(); err != nil {
		lock.Close()
		return nil, exitFiles
	}
	return s, exitServed
}

// takeLock takes a record lock, which the kernel releases when the process ends.
func takeLock(f *os.File) error {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

// clear removes the database of a session that died, since a damaged table would crash this one too, and that of another
// version. Then it writes the mark of this session.
func (s *session) clear() error {
	if _, err := os.Lstat(s.path(sessionName)); err == nil {
		s.note = "its process died, so it starts empty"
		if err := addDeath(s.dir, time.Now()); err != nil {
			return err
		}
		if err := os.RemoveAll(s.path(databaseDir)); err != nil {
			return fmt.Errorf("remove the cache of a process that died: %w", err)
		}
	}
	if fi, err := os.Lstat(s.path(listingName)); err == nil && fi.Size() > maxListing-maxListing/4 {
		if err := errors.Join(os.RemoveAll(s.path(databaseDir)), os.RemoveAll(s.path(listingName))); err != nil {
			return fmt.Errorf("remove the cache, which has too many modules: %w", err)
		}
	}
	if b, err := os.ReadFile(s.path(versionName)); err != nil || string(b) != layoutVersion {
		if err := os.RemoveAll(s.path(databaseDir)); err != nil {
			return fmt.Errorf("remove the cache of another version: %w", err)
		}
		if err := os.WriteFile(s.path(versionName), []byte(layoutVersion), 0o600); err != nil {
			return fmt.Errorf("note the cache's version: %w", err)
		}
	}
	if err := os.WriteFile(s.path(sessionName), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark the cache as open: %w", err)
	}
	return nil
}

// end removes the mark, after the database is closed.
func (s *session) end() {
	_ = os.Remove(s.path(sessionName)) // if the mark stays, the next session starts empty
	s.lock.Close()
}

// Check returns what keeps the cache from working, or nil. It starts the cache process if there is none.
func (o *Options) Check() error {
	if o.Off {
		return nil
	}
	dir, err := o.Directory()
	if err != nil {
		return err
	}
	l, _, err := reach(o, dir)
	if err != nil {
		return err
	}
	return l.conn.Close()
}
