package child

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxProcesses bounds the processes whose maps are kept; the oldest are dropped.
	maxProcesses = 256
	// firstLook is the time of the first read after the start, and lastLook the longest pause between two reads: each pause is a quarter
	// longer than the one before. A program loads its libraries in the first milliseconds.
	firstLook = 200 * time.Microsecond
	lastLook  = 5 * time.Second
	// share is which part of the time reads because of output may take, one of so many, and ahead what they may take in advance.
	share = 20
	ahead = 20 * time.Millisecond
)

// Maps keeps the memory maps of a command and its descendants, to resolve addresses that they print without a module. It has them from
// the kernel's records; see record_linux.go. Where these are not permitted, it reads /proc: when the command's program has loaded its
// libraries, several times after the start, and then whenever there is output. A process may have ended when its last output is read.
// Therefore the last maps are kept. The methods may be called at any time from any goroutine.
//
// It is not certain which process wrote a line. Therefore only mappings are kept that the address alone proves; see evidence_linux.go. On
// other systems than Linux there are none.
type Maps struct {
	mu      sync.Mutex
	records *records // nil if there are none
	// unrecorded and untraced are set by tests: the kernel does not permit records, or to trace.
	unrecorded, untraced bool
	root                 int
	kept                 []Snapshot // in the order of their first snapshots
	files                files
	began                time.Time     // when the command was started
	took                 time.Duration // how long /proc was read since
	traced               chan struct{} // is closed when the command is not traced any more
}

// Snapshot is the memory map of one process, or of a program that it has executed.
type Snapshot struct {
	// PID is the process ID in our namespace; in a container the process may have another one.
	PID int
	// Program is the path of the program's file, and Inode its inode.
	Program string
	Inode   uint64
	// Text has a line `start-last perms offset size path (BuildId: hex)`, with an inclusive last, for each mapping of code
	// that counts, as Android's tombstones have them. It is not to be changed.
	Text []byte
	// Fixed has such lines, without build IDs, for code at places where other programs may have code, too: at fixed addresses, or where not many
	// places are chosen from, as without address space layout randomization and in 32-bit programs. It is not to be changed.
	Fixed []byte
	// Files are the mapped files of code that are still those at their paths.
	Files []string
	// raw is the content of /proc/PID/maps, when it was read, and whether places are random in the process. Text and Fixed are set once it is counted.
	raw     []byte
	read    time.Time
	random  bool
	counted bool
}

// NewMaps makes a Maps for Options.
func NewMaps() *Maps { return &Maps{files: files{}} }

// All returns the memory maps of the command and all of its descendants, the newest first.
func (m *Maps) All() []Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold(true)
	all := m.records.snapshots()
	if m.records.complete() {
		return all
	}
	m.look()
	for i := range slices.Backward(m.kept) {
		if s := &m.kept[i]; !s.counted {
			m.files.count(s)
		}
		all = append(all, m.kept[i])
	}
	return all
}

// start starts a command with a function that returns its process ID, and follows its maps until stop is called. The function is asked to
// have the command traced, and reports whether it did.
func (m *Maps) start(run func(traced bool) (pid int, is bool, err error)) (stop func(), err error) {
	done, started := make(chan struct{}), make(chan error, 1)
	m.mu.Lock()
	m.kept, m.traced, m.began = nil, make(chan struct{}), time.Now()
	m.mu.Unlock()
	var running sync.WaitGroup
	running.Go(func() {
		// What the kernel records, and whom it lets trace a process, depends on the thread that has started it. The thread ends with us.
		runtime.LockOSThread()
		var r *records
		if !m.unrecorded {
			r = newRecords(m.files)
		}
		m.mu.Lock()
		m.records = r
		m.mu.Unlock()
		pid, traced, err := run(r == nil && !m.untraced)
		m.mu.Lock()
		m.root = pid
		m.mu.Unlock()
		started <- err
		if traced && err == nil {
			traceLoading(pid, func() {
				m.mu.Lock()
				m.read(pid)
				m.mu.Unlock()
			})
		}
		close(m.traced)
		switch {
		case err != nil:
		case r != nil:
			r.follow(&m.mu, func() { m.hold(false) }, done)
		default:
			m.follow(done)
		}
	})
	if err = <-started; err != nil {
		running.Wait()
		return nil, err
	}
	return func() {
		close(done)
		running.Wait()
	}, nil
}

// free waits until the command is not traced any more. The status of a traced command is not for others.
func (m *Maps) free() {
	if m != nil {
		<-m.traced
	}
}

// follow reads the maps from time to time, until done is closed.
func (m *Maps) follow(done <-chan struct{}) {
	for pause := firstLook; ; pause = min(pause+pause/4, lastLook) {
		select {
		case <-time.After(pause):
			m.mu.Lock()
			m.look()
			m.mu.Unlock()
		case <-done:
			return
		}
	}
}

// touch is called when there is output, before it is read: the process that has written may end at any time. It reads the maps if that has not
// taken too much time so far.
func (m *Maps) touch() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records != nil {
		m.hold(false)
	} else if m.mayLook() {
		m.look()
	}
}

// mayLook reports whether /proc has taken little time so far.
func (m *Maps) mayLook() bool { return m.took < time.Since(m.began)/share+ahead }

// hold opens mapped files that are not at their paths, if the kernel's records say which these are, and if that has not taken too much time so
// far. asked is set if a frame asks for them.
func (m *Maps) hold(asked bool) {
	if m.records == nil || !m.mayLook() {
		return
	}
	begin := time.Now()
	m.records.drain()
	m.records.hold(asked)
	m.took += time.Since(begin)
}

// Held returns the path at which the file of a module is found that is not at the module's path any more, by the module's build ID in hexadecimal
// digits. It is "" if there is none.
func (m *Maps) Held(path, id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files.heldAs(path, id)
}

// look reads the maps of all running processes. If a process's maps cannot be read, or are empty because it has ended, its last
// snapshot stays.
func (m *Maps) look() {
	if m.root == 0 {
		return
	}
	begin := time.Now()
	defer func() { m.took += time.Since(begin) }()
	for _, pid := range descendants(m.root) {
		m.read(pid)
	}
}

// read reads the maps of a process.
func (m *Maps) read(pid int) {
	at := slices.IndexFunc(m.kept, func(s Snapshot) bool { return s.PID == pid })
	var known Snapshot
	if at >= 0 {
		known = m.kept[at]
	}
	now, ok := snapshot(pid, known)
	if ok && !now.counted {
		m.files.holdDeleted(&now)
	}
	switch {
	case !ok:
	case at >= 0:
		m.kept[at] = now
	case len(m.kept) >= maxProcesses:
		m.kept = append(m.kept[1:], now)
	default:
		m.kept = append(m.kept, now)
	}
}
