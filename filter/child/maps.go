package child

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxProcesses bounds the processes whose maps are kept; the oldest are dropped.
	maxProcesses = 256
	// touchInterval is the shortest time between two reads of the maps because of output.
	touchInterval = 100 * time.Millisecond
	// firstLook is the time of the first read after the start, and lastLook the longest pause between two reads: each pause is
	// four times the one before. A program loads its libraries in the first milliseconds.
	firstLook = 5 * time.Millisecond
	lastLook  = 5 * time.Second
)

// Maps keeps the memory maps of a command and its descendants, to resolve addresses that they print without a module. A
// process may have ended when its last output is read. Therefore maps are read in advance, several times after the start and
// then whenever there is output, and the last ones are kept. The methods may be called at any time from any goroutine.
//
// Maps are read only from time to time, and it is not certain which process wrote a line. Therefore only mappings are kept that
// the address alone proves; see evidence_linux.go. On other systems there are none.
type Maps struct {
	mu     sync.Mutex
	root   int
	kept   []Snapshot // in the order of their first snapshots
	files  files
	looked time.Time
}

// Snapshot is the memory map of one process.
type Snapshot struct {
	// PID is the process ID in our namespace; in a container the process may have another one.
	PID int
	// Text has a line `start-last perms offset size path (BuildId: hex)`, with an inclusive last, for each mapping of code
	// that counts, as Android's tombstones have them. It is not to be changed.
	Text []byte
	// raw is the content of /proc/PID/maps.
	raw []byte
}

// NewMaps makes a Maps for Options.
func NewMaps() *Maps { return &Maps{files: files{}} }

// All returns the memory maps of the command and all of its descendants, the newest first.
func (m *Maps) All() []Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	all := slices.Clone(m.kept)
	slices.Reverse(all)
	return all
}

// follow reads the maps of the command with that process ID from time to time, until stop is called.
func (m *Maps) follow(pid int) (stop func()) {
	m.mu.Lock()
	m.root, m.kept = pid, nil
	m.mu.Unlock()
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for pause := firstLook; ; pause = min(4*pause, lastLook) {
			select {
			case <-time.After(pause):
				m.mu.Lock()
				m.look()
				m.mu.Unlock()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// touch is called when there is output.
func (m *Maps) touch() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.looked) >= touchInterval {
		m.look()
	}
}

// look reads the maps of all running processes. If a process's maps cannot be read, or are empty because it has ended, its last
// snapshot stays.
func (m *Maps) look() {
	m.looked = time.Now()
	if m.root == 0 {
		return
	}
	for _, pid := range descendants(m.root) {
		at := slices.IndexFunc(m.kept, func(s Snapshot) bool { return s.PID == pid })
		var known Snapshot
		if at >= 0 {
			known = m.kept[at]
		}
		now, ok := m.files.snapshot(pid, known)
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
}
