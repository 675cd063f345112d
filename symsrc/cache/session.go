//go:build linux || darwin

package cache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"qss-filter/symsrc/diskcache"
)

// exitCode is how a cache process tells the filter that started it why it does not serve: it has no standard error.
type exitCode int

const (
	exitServed exitCode = 0
	exitBusy   exitCode = 10 + iota // another process serves the directory
	exitFiles                       // the directory cannot be used
	exitFull                        // the disk is nearly full
	exitSocket                      // the socket cannot be made
	exitBadger                      // the database cannot be opened, not even a new one
)

// reason is what a person reads of a process that ended.
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
	note string // what a person is to know of the one before
}

// begin takes the directory's lock, and clears away what a session that died or another version has left.
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

// takeLock takes a record lock, which ends with the process, however it ends.
func takeLock(f *os.File) error {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
}

func (s *session) path(name string) string { return filepath.Join(s.dir, name) }

// clear removes the database of a session that died, for a damaged table would kill this one too, and that of another
// version. It leaves the mark of this session.
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

// end takes the mark away, once the database is closed.
func (s *session) end() {
	_ = os.Remove(s.path(sessionName)) // a mark that stays costs the answers kept, no more
	s.lock.Close()
}
