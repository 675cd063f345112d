//go:build linux || darwin

package cache

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of the cache process. Tests use other values.
var (
	idleTime    = 30 * time.Second // for which it waits for clients
	lastTime    = 10 * time.Second // for which it waits for the database to close
	diskReserve = int64(64 << 20)  // bytes of the disk that stay free
)

// server answers filters until it has had no client for a while.
type server struct {
	dir     string
	store   *store
	started time.Time
	listen  *net.UnixListener

	mu      sync.Mutex
	note    string // for the first client
	clients int
	idle    *time.Timer
	linger  time.Duration // how long it waits for another client after the last one
	over    chan struct{}
	once    sync.Once

	taking sync.Mutex  // held while spool files are read
	ending atomic.Bool // set when no more of them are read
}

// serve runs the cache process until ctx ends, or until it has had no client for a while. If brief is set, it ends with its last client.
func serve(ctx context.Context, dir string, max int64, brief bool) exitCode {
	closeInherited()
	runtime.GOMAXPROCS(min(2, runtime.NumCPU()))
	debug.SetMemoryLimit(128 << 20)
	s, code := begin(dir)
	if s == nil {
		return code
	}
	db, note, err := openStore(s.path(databaseDir), max, diskReserve)
	if err != nil {
		s.end()
		if errors.Is(err, syscall.ENOSPC) {
			return exitFull
		}
		return exitBadger
	}
	if note == "" {
		note = s.note
	}
	sv := &server{dir: dir, store: db, started: time.Now(), note: note, over: make(chan struct{}), linger: idleTime}
	if brief {
		sv.linger = 0
	}
	if sv.listen, err = listen(dir); err != nil {
		code = exitSocket
	} else {
		sv.idle = time.AfterFunc(idleTime, sv.stopIfIdle)
		sv.tidy()
		go sv.take()
		go sv.accept()
		select {
		case <-ctx.Done():
		case <-sv.over:
		}
		_ = os.Remove(s.path(socketName)) // otherwise the next process does
		sv.listen.Close()
	}
	if sv.closed() {
		s.end()
	}
	return code
}

// closed closes the database, after the current spool file is stored, and reports whether that succeeded. Badger tries forever to
// write to a directory that was removed, so closed does not wait then, and not for long otherwise: the mark of the session stays, as if
// the process had died.
func (sv *server) closed() bool {
	if _, err := os.Stat(sv.dir); err != nil {
		return false
	}
	done := make(chan error, 1)
	go func() {
		sv.ending.Store(true)
		sv.taking.Lock() // and never released
		done <- sv.store.close()
	}()
	select {
	case err := <-done:
		return err == nil
	case <-time.After(lastTime):
		return false
	}
}

// listen creates the socket. An existing one has no server, since this process has the lock.
func listen(dir string) (l *net.UnixListener, err error) {
	defer syscall.Umask(syscall.Umask(0o077))
	err = socketPath(dir, func(path string) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err == nil {
			l.SetUnlinkOnClose(false) // the path may no longer be valid
		}
		return err
	})
	return l, err
}

// closeInherited closes the inherited descriptors: this process must not keep a pipe of the caller open. Those that the runtime opens
// have the flag FD_CLOEXEC.
func closeInherited() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

func (sv *server) stop() { sv.once.Do(func() { close(sv.over) }) }

func (sv *server) stopIfIdle() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.clients == 0 {
		sv.stop()
	}
}

// accept serves all clients.
func (sv *server) accept() {
	for {
		conn, err := sv.listen.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors
			continue
		}
		if sameUser(conn) != nil {
			conn.Close()
			continue
		}
		sv.mu.Lock()
		sv.clients++
		sv.mu.Unlock()
		go func() {
			sv.client(&link{conn: conn})
			conn.Close()
			sv.mu.Lock()
			if sv.clients--; sv.clients == 0 {
				sv.idle.Reset(sv.linger)
			}
			sv.mu.Unlock()
		}()
	}
}

// client answers one filter until it disconnects or sends an invalid message. Spool files that exist before
// its first query, or before its news, are read first.
func (sv *server) client(l *link) {
	var reply []byte
	fresh := make(chan struct{})
	close(fresh)
	for {
		m, err := l.receive()
		if err != nil {
			return
		}
		switch m.kind {
		case hitsMsg:
			asked, n := binary.Uvarint(m.body)
			found, _ := binary.Uvarint(m.body[max(n, 0):])
			sv.store.asked.Add(asked)
			sv.store.found.Add(min(found, asked))
			continue
		case newsMsg, helloMsg:
			taken := make(chan struct{})
			go func() {
				defer close(taken)
				sv.take()
			}()
			if fresh = taken; m.kind == newsMsg {
				continue
			}
		default:
			<-fresh
		}
		if reply, err = sv.reply(reply[:0], m); err != nil {
			return
		}
		if err := l.send(m.kind, m.id, reply, 0); err != nil {
			return
		}
	}
}

func (sv *server) reply(dst []byte, m message) ([]byte, error) {
	switch m.kind {
	case helloMsg:
		return sv.hello(dst, m.body)
	case askMsg:
		return sv.store.answer(dst, m.body)
	case statsMsg:
		b, err := json.Marshal(sv.stats())
		return append(dst, b...), err
	case clearMsg:
		if err := sv.store.reset(); err != nil {
			dst = append(dst, err.Error()...)
		}
		return dst, nil
	}
	return nil, errProtocol
}

// hello appends the reply to helloMsg. It applies the client's limit on disk if that is lower than those of earlier clients.
func (sv *server) hello(dst, body []byte) ([]byte, error) {
	version, n := binary.Uvarint(body)
	most, n2 := binary.Uvarint(body[max(n, 0):])
	if n <= 0 || n2 <= 0 {
		return nil, errProtocol
	}
	sv.mu.Lock()
	note := sv.note
	if version == protocol {
		sv.note = ""
	}
	sv.mu.Unlock()
	if most >= LeastMax {
		sv.store.lower(int64(min(most, 1<<62)))
	}
	dst = binary.AppendUvarint(dst, protocol)
	dst = binary.AppendUvarint(dst, uint64(os.Getpid()))
	return append(dst, note...), nil
}

func (sv *server) stats() stats {
	st := stats{PID: os.Getpid(), Started: sv.started, Entries: sv.store.entries(), Bytes: sv.store.size(),
		Max: sv.store.max.Load(), Asked: sv.store.asked.Load(), Found: sv.store.found.Load()}
	sv.mu.Lock()
	st.Clients = sv.clients
	sv.mu.Unlock()
	return st
}
