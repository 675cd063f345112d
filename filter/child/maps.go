package child

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
// Only Linux has such maps; elsewhere there are none.
type Maps struct {
	mu     sync.Mutex
	root   int
	kept   []Snapshot // in the order in which they were seen first
	looked time.Time
}

// Snapshot is the memory map of one process.
type Snapshot struct {
	// PID is the process, as numbered here; inside a container it may call itself otherwise.
	PID int
	// Text is what /proc/PID/maps had in it: lines `start-end perms offset dev inode path`. It is not to be changed.
	Text []byte
}

// NewMaps makes a Maps for Options.
func NewMaps() *Maps { return &Maps{} }

// Of gives the memory map of a process: as it is now, or as it was last seen if it is gone. It is nil for a process that
// is no descendant of the command, and before the command has started.
func (m *Maps) Of(pid int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	for _, s := range m.kept {
		if s.PID == pid {
			return s.Text
		}
	}
	return nil
}

// All gives the memory maps of the command and all of its descendants, those seen last first.
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
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
		if err != nil || len(text) == 0 {
			continue
		}
		at := slices.IndexFunc(m.kept, func(s Snapshot) bool { return s.PID == pid })
		switch {
		case at >= 0:
			m.kept[at].Text = text
		case len(m.kept) >= maxProcesses:
			m.kept = append(m.kept[1:], Snapshot{pid, text})
		default:
			m.kept = append(m.kept, Snapshot{pid, text})
		}
	}
}

// descendants gives a process and those below it, by /proc/PID/task/TID/children: proc_tid_children(5).
func descendants(root int) []int {
	pids := []int{root}
	for i := 0; i < len(pids) && len(pids) < maxProcesses; i++ {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pids[i]) + "/task/*/children")
		if err != nil {
			continue
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				continue
			}
			for _, digits := range bytes.Fields(text) {
				if pid, err := strconv.Atoi(string(digits)); err == nil && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}
