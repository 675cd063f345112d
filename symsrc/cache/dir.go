//go:build linux || darwin

package cache

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qss-filter/symsrc/diskcache"
)

// Names in the cache's directory.
const (
	lockName    = "lock"    // held by the process that serves
	socketName  = "socket"  // where it listens
	sessionName = "session" // exists while the database is open: if there is no process, the last one died
	deathsName  = "deaths"  // when processes died: a line each, in seconds since 1970
	versionName = "version" // the layout of the directory
)

const layoutVersion = "qss-filter cache 3\n"

// supported reports whether there is a cache process on this system.
const supported = true

// maxSocketPath is the size of sun_path on every system, with its NUL.
const maxSocketPath = 103

// socketPath calls use with a path of the directory's socket that is short enough, even if the directory's own path is not.
func socketPath(dir string, use func(path string) error) error {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocketPath {
		return use(path)
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open the cache's directory: %w", err)
	}
	defer d.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName))
}

// dial connects to the process that serves the directory. It fails if that is another user's.
func dial(dir string) (conn *net.UnixConn, err error) {
	err = socketPath(dir, func(path string) error {
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the cache: %w", err)
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

var errOtherUser = errors.New("the cache's socket belongs to a process of another user")

// sameUser fails unless the peer runs as the same user.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is at the cache's socket: %w", err)
	}
	uid, peerErr := uint32(0), error(nil)
	if err := raw.Control(func(fd uintptr) { uid, peerErr = peerUID(int(fd)) }); err != nil {
		return fmt.Errorf("ask who is at the cache's socket: %w", err)
	}
	if peerErr != nil {
		return fmt.Errorf("ask who is at the cache's socket: %w", peerErr)
	}
	if int(uid) != os.Geteuid() {
		return errOtherUser
	}
	return nil
}

// holder returns the process ID of the process that serves the directory, or 0 if there is none.
func holder(dir string) int {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	defer f.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil || lock.Type == syscall.F_UNLCK {
		return 0
	}
	return max(int(lock.Pid), 1) // 0 is one of another PID namespace
}

// died reports whether the process of the last session died: its mark is there, but no process.
func died(dir string) bool {
	marked := func() bool {
		_, err := os.Lstat(filepath.Join(dir, sessionName))
		return err == nil
	}
	return marked() && holder(dir) == 0 && marked()
}

// A process that has died maxDeaths times within deathsWithin is not started again for a while.
const (
	maxDeaths    = 2
	deathsWithin = time.Minute
)

// deaths returns when processes died within the last minute.
func deaths(dir string, now time.Time) (times []time.Time) {
	b, err := os.ReadFile(filepath.Join(dir, deathsName))
	if err != nil || len(b) > 4096 {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			continue
		}
		if ago := now.Sub(time.Unix(n, 0)); ago >= -time.Second && ago < deathsWithin {
			times = append(times, time.Unix(n, 0))
		}
	}
	return times
}

// addDeath records that a process died. The exact time is not known, so it is now.
func addDeath(dir string, now time.Time) error {
	text := ""
	for _, t := range append(deaths(dir, now), now) {
		text += strconv.FormatInt(t.Unix(), 10) + "\n"
	}
	if err := diskcache.WriteFile(filepath.Join(dir, deathsName), []byte(text)); err != nil { // filters read it meanwhile
		return fmt.Errorf("note that a cache process died: %w", err)
	}
	return nil
}

// mayStart reports whether a process may be started: not if it has died too often recently.
func mayStart(dir string) bool {
	n := len(deaths(dir, time.Now()))
	if died(dir) {
		n++
	}
	return n < maxDeaths
}

// hasAnswers reports whether there may be answers in the directory.
func hasAnswers(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, databaseDir))
	return err == nil || len(spooled(dir)) > 0
}

// readAtMost reads at most the first most bytes of a file.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size(), most))
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it was cut meanwhile
		err = nil
	}
	return b[:n], err
}
