//go:build linux || darwin

package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// What filters have found lies in files of the folder new until the process takes it into the database, so that neither a filter
// waits for the process nor need one run: keys and values, blobs in turn.
const (
	spoolDir    = "new"
	spoolSuffix = ".answers" // of a whole file; others are being written
)

// Bounds on what filters leave: bytes of a file, also of one that had to wait, files in the folder, files and bytes that are worth
// the start of a process, and how long an answer may wait in memory.
const (
	spoolSize   = 1 << 20
	maxLeft     = 4 << 20
	maxSpool    = 64
	manySpooled = 16
	muchSpooled = 2 << 20
	soonTime    = 100 * time.Millisecond
	laterTime   = 3 * time.Second
)

// spool has the cache keep answers. It may be used by several goroutines at once.
type spool struct {
	dir    string
	kept   *listing
	client *client
	warn   func(cause string)
	count  atomic.Int64 // that were begun

	mu      sync.Mutex
	batch   *batch // nil: nothing waits
	urgent  bool   // something of it is wanted soon
	timer   *time.Timer
	value   []byte // scratch
	spare   []byte // of a batch that was left
	last    dated
	bytes   int64 // that were left
	closed  bool
	writing sync.WaitGroup
	behind  bool // a file is being written
}

// dated are files with what Made says of them.
type dated struct {
	files *symsrc.Files
	made  time.Time
}

// batch is what becomes a file: keys and values, the modules that they are of, and by what it is known that the files that they
// are from are still what was read.
type batch struct {
	pairs   []byte
	modules map[string]bool
	of      map[origin]bool
	recent  origin
}

// origin is the module, and files, that an answer is from.
type origin struct {
	m     *module
	files *symsrc.Files
}

// sound reports whether the files still are what was read. So they were, then, when they were read.
func (b *batch) sound() bool {
	for from := range b.of {
		if from.files.Watch.Look() || from.m.of.BuildID == "" && filesIdentity(from.files) != from.m.text {
			return false
		}
	}
	return true
}

func newSpool(dir string, kept *listing, c *client, warn func(string)) *spool {
	return &spool{dir: dir, kept: kept, client: c, warn: warn}
}

// frames has an answer kept. Too large ones are dropped, and others where the disk cannot follow: they are found again.
func (s *spool) frames(m *module, key []byte, a *symsrc.Answer, u urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.files != a.Files {
		s.last = dated{a.Files, m.madeBy(a.Files)}
	}
	s.value = appendFrames(s.value[:0], key, a.Frames, s.last.made)
	s.add(m, key, a.Files, u)
}

// probe has kept what the machine code shows.
func (s *spool) probe(m *module, key []byte, p symsrc.Probe, files *symsrc.Files, u urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = appendProbe(s.value[:0], key, p)
	s.add(m, key, files, u)
}

// add takes s.value. s is locked.
func (s *spool) add(m *module, key []byte, files *symsrc.Files, u urgency) {
	b := s.batch
	if len(s.value) > maxValue || s.closed || b != nil && len(b.pairs) > maxLeft-maxValue-keySize-16 {
		return
	}
	if b == nil {
		b = &batch{pairs: s.spare[:0], modules: make(map[string]bool), of: make(map[origin]bool)}
		s.spare = nil
		s.batch, s.urgent = b, false
	}
	if u == soon && !s.urgent || s.timer == nil {
		s.wait(u)
	}
	b.pairs = appendBlob(appendBlob(b.pairs, key), s.value)
	if from := (origin{m, files}); from != b.recent {
		b.recent, b.of[from], b.modules[m.prefix] = from, true, true
	}
	if len(b.pairs) >= spoolSize {
		s.hand()
	}
}

// wait has the batch written after a while. s is locked.
func (s *spool) wait(u urgency) {
	after := laterTime
	if u == soon {
		s.urgent, after = true, soonTime
	}
	if s.timer != nil {
		s.timer.Reset(after)
		return
	}
	s.timer = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.timer = nil
		if s.batch != nil && !s.closed {
			s.hand()
		}
	})
}

// hand has the batch written in the background, unless the one before is not written yet. s is locked.
func (s *spool) hand() {
	if s.behind {
		return
	}
	b, urgent := s.batch, s.urgent
	s.batch, s.behind = nil, true
	s.writing.Go(func() {
		left := s.leave(b)
		s.mu.Lock()
		s.behind, s.spare = false, b.pairs
		s.bytes += left
		if s.batch != nil && s.timer == nil && !s.closed {
			s.wait(later)
		}
		s.mu.Unlock()
		if left > 0 {
			s.client.news(urgent)
		}
	})
}

// close leaves what waits, and has the process take it where that is worth it.
func (s *spool) close() {
	s.writing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.batch != nil {
		s.bytes += s.leave(s.batch)
	}
	if s.bytes > 0 {
		s.client.finish(s.urgent || s.bytes >= muchSpooled)
	}
}

var errManySpooled = errors.New("they are not taken")

// leave writes a batch, and returns how many bytes that were.
func (s *spool) leave(b *batch) int64 {
	if !b.sound() {
		return 0
	}
	err := s.write(b)
	if err != nil && !errors.Is(err, errManySpooled) {
		s.client.fail(err)
	}
	if err != nil {
		return 0
	}
	return int64(len(b.pairs))
}

func (s *spool) write(b *batch) error {
	if err := trust(s.dir); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, spoolDir)
	if !roomFor(s.dir, diskReserve, len(b.pairs)) {
		return errReserve
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("leave answers: %w", err)
	}
	if names := spooled(s.dir); len(names) >= maxSpool {
		return errManySpooled
	}
	if err := s.kept.add(b.modules); err != nil {
		return fmt.Errorf("leave answers: %w", err)
	}
	// Files are taken in the order of their names.
	path := filepath.Join(dir, fmt.Sprintf("%016x-%d-%d", time.Now().UnixNano(), os.Getpid(), s.count.Add(1)))
	err := os.WriteFile(path, b.pairs, 0o600)
	if err == nil {
		err = os.Rename(path, path+spoolSuffix)
	}
	if err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("leave answers: %w", err)
	}
	return nil
}

// spooled returns the names of the files that were left in a cache's directory, the oldest first.
func spooled(dir string) (names []string) {
	f, err := os.Open(filepath.Join(dir, spoolDir))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ = f.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, spoolSuffix) })
	slices.Sort(names)
	return names
}
