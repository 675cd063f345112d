package child

import (
	"slices"
	"sync"
	"time"
)

const (
	// maxProcesses bounds the processes whose maps are kept; the oldest are dropped.
	maxProcesses = 256
	// touchInterval is how often at most maps are read because there is output.
	touchInterval = 100 * time.Millisecond
	// firstLook and lastLook are how long after the start maps are read first, and how often at the end: each pause is
	// four times the one before. In the first milliseconds a program loads its libraries.
	firstLook = 5 * time.Millisecond
	lastLook  = 5 * time.Second
)

// Maps keeps the memory maps of a command and its descendants, to resolve addresses that they print without a module. A
// process may be gone by the time its last words are read: therefore maps are read ahead, some times after the start and
// then as output comes, and the last ones are kept. The methods may be called at any time from any goroutine.
//
// Looks come now and then, and a line does not say for sure whose it is. Therefore only such mappings are kept as tell by
// the address alone what is there; evidence_linux.go says which. Elsewhere there are none.
type Maps struct {
	mu     sync.Mutex
	root   int
	kept   []Snapshot // in the order in which they were seen first
	files  files
	looked time.Time
}

// Snapshot is the memory map of one process.
type Snapshot struct {
	// PID is the process, as numbered here; inside a container it may call itself otherwise.
	PID int
	// Text has a line `start-last perms offset size path (BuildId: hex)`, with an inclusive last, for each mapping of code
	// that counts, as Android's tombstones have them. It is not to be changed.
	Text []byte
	// raw is what /proc/PID/maps had in it.
	raw []byte
}

// NewMaps makes a Maps for Options.
func NewMaps() *Maps { return &Maps{files: files{}} }

// All returns the memory maps of the command and all of its descendants, those seen last first.
func (m *Maps) All() []Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	all := slices.Clone(m.kept)
	slices.Reverse(all)
	return all
}

// follow looks at the command with that process ID until stop is called.
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

// look reads the maps of all that live. What cannot be read, or is empty since the process has ended, leaves what was
// known.
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
