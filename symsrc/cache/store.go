//go:build linux || darwin

package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"

	"qss-filter/symsrc/diskcache"
)

// Keys for internal use. They differ from the keys of queries, which begin with eight bytes of a hash and are longer. The first and
// the last one are written in every session, so that all tables overlap and are merged; otherwise they would accumulate.
var (
	firstKey    = []byte{0}
	lastKey     = []byte{0xff, 0xff}
	countersKey = []byte{1}
)

// manyTables is the number of tables above which they are merged when the database is closed.
const manyTables = 16

// store is the open database.
type store struct {
	dir     string // Badger's own
	reserve int64  // bytes that stay free on the disk

	max atomic.Int64 // bytes on disk

	writing sync.Mutex // held while the database is written to, replaced or closed, which may take long on a slow disk
	since   int64      // bytes written since those on disk were counted
	marks   marks      // of what is stored
	fresh   bool       // they are not in their file

	mu     sync.RWMutex // held while the database is read, and shortly to change these: readers never wait for the disk
	db     *badger.DB   // nil while it is replaced, and once it is closed
	closed bool

	asked, found atomic.Uint64 // queries, and those answered, since the cache was last empty
}

// openStore opens the database. If it is damaged, it starts a new one, and note says so.
func openStore(dir string, max, reserve int64) (s *store, note string, err error) {
	s = &store{dir: dir, reserve: reserve}
	s.max.Store(max)
	if err := s.open(); err != nil {
		if err := s.wipe(); err != nil {
			return nil, "", err
		}
		note = "the cache was damaged and starts empty: " + err.Error()
		if err := s.open(); err != nil {
			return nil, "", err
		}
	}
	s.loadCounters()
	return s, note, nil
}

// options keeps Badger small: its defaults are files of 2 GB and half a gigabyte of memory.
func (s *store) options() badger.Options {
	tables, _ := filepath.Glob(filepath.Join(s.dir, "*.sst"))
	return badger.DefaultOptions(s.dir).
		WithMemTableSize(8 << 20).WithNumMemtables(2).WithNumCompactors(2).
		WithValueThreshold(64 << 10).WithValueLogFileSize(1 << 20).
		WithBlockCacheSize(32 << 20).WithIndexCacheSize(0).
		WithMetricsEnabled(false).WithDetectConflicts(false).WithNumGoroutines(1).
		WithCompactL0OnClose(len(tables) > manyTables).
		WithLogger(nil)
}

// open opens the database, which takes some disk space immediately. If there is too little, it fails with ENOSPC and writes nothing.
// The caller holds s.writing, or is the only user of s.
func (s *store) open() error {
	if !diskcache.HasRoom(s.dirAbove(), 24<<20, s.reserve) {
		return fmt.Errorf("open the cache: %w", syscall.ENOSPC)
	}
	db, err := badger.Open(s.options())
	if err != nil {
		return fmt.Errorf("open the cache: %w", err)
	}
	s.since, s.marks, s.fresh = 0, readMarks(s.dir), false
	err = write(db, [][]byte{firstKey, lastKey}, [][]byte{nil, nil})
	s.swap(db, false)
	return err
}

// swap replaces the database, and returns the old one, which has no readers any more. The caller holds s.writing.
func (s *store) swap(db *badger.DB, closed bool) (old *badger.DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.db, s.closed = s.db, db, closed
	return old
}

func (s *store) dirAbove() string { return filepath.Dir(s.dir) }

// wipe removes the database, which must be closed.
func (s *store) wipe() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the cache: %w", err)
	}
	return nil
}

// reset replaces the database with an empty one. Until that is open, no key has a page.
func (s *store) reset() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return errClosed
	}
	if db := s.swap(nil, false); db != nil {
		if err := db.Close(); err != nil {
			return fmt.Errorf("close the cache: %w", err)
		}
	}
	if err := s.wipe(); err != nil {
		return err
	}
	s.asked.Store(0)
	s.found.Store(0)
	return s.open()
}

// close closes the database.
func (s *store) close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	db := s.swap(nil, true)
	if db == nil {
		return errClosed
	}
	b := binary.BigEndian.AppendUint64(nil, s.asked.Load())
	if diskcache.HasRoom(s.dirAbove(), 0, s.reserve) {
		_ = write(db, [][]byte{countersKey}, [][]byte{binary.BigEndian.AppendUint64(b, s.found.Load())}) // only for stats
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close the cache: %w", err)
	}
	return nil
}

// lower applies a limit on disk if it is lower than the present one.
func (s *store) lower(limit int64) {
	for {
		before := s.max.Load()
		if limit >= before || s.max.CompareAndSwap(before, limit) {
			return
		}
	}
}

// saveMarks writes the marks of what was stored. Without them it is stored again.
func (s *store) saveMarks() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.db == nil || !s.fresh || !diskcache.HasRoom(s.dirAbove(), marksSize, s.reserve) {
		return
	}
	s.fresh = diskcache.WriteFile(filepath.Join(s.dir, marksName), s.marks.appendTo(make([]byte, 0, marksSize))) != nil
}

// loadCounters restores the counters of the last session.
func (s *store) loadCounters() {
	_ = s.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(countersKey)
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error {
			if len(b) == 16 {
				s.asked.Store(binary.BigEndian.Uint64(b))
				s.found.Store(binary.BigEndian.Uint64(b[8:]))
			}
			return nil
		})
	})
}

// limit empties the database before more bytes would exceed its limit: recent answers are soon stored again. Tables in memory count
// with the size of their files.
func (s *store) limit(more int64) error {
	const step = 1 << 20
	s.writing.Lock()
	s.since += more
	count := s.since >= step
	if count {
		s.since = 0
	}
	s.writing.Unlock()
	most := s.max.Load()
	most -= max(most/4, LeastMax/2) // Badger writes as it closes
	if !count || s.size() < most {
		return nil
	}
	return s.reset()
}

// size returns the size of the files on disk, in bytes.
func (s *store) size() (total int64) {
	_ = filepath.WalkDir(s.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		if fi, err := e.Info(); err == nil {
			if stat, ok := fi.Sys().(*syscall.Stat_t); ok {
				total += stat.Blocks * 512
			}
		}
		return nil
	})
	return total
}

// roomFor reports whether n bytes may be written to the cache in dir, with its overhead, so that the reserve stays free.
func roomFor(dir string, reserve int64, n int) bool {
	return diskcache.HasRoom(dir, 4*int64(n)+24<<20, reserve)
}

const (
	takenSuffix = ".taken" // of a spool file that is being read
)

// tidy removes useless spool files: the one that a process was reading when it died, since it may be the cause, and unfinished ones.
func (sv *server) tidy() {
	diskcache.RemoveTemporary(sv.dir, diskcache.Abandoned)
	dir := filepath.Join(sv.dir, spoolDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), spoolSuffix) {
			continue
		}
		fi, err := e.Info()
		if err == nil && (strings.HasSuffix(e.Name(), takenSuffix) || time.Since(fi.ModTime()) > diskcache.Abandoned) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // otherwise the next process does
		}
	}
}

// take stores the content of the spool files in the database, and removes them. Damaged entries are dropped.
func (sv *server) take() {
	sv.taking.Lock()
	defer sv.taking.Unlock()
	defer sv.store.saveMarks()
	for _, name := range spooled(sv.dir) {
		if sv.ending.Load() {
			return // the next process reads them
		}
		path := filepath.Join(sv.dir, spoolDir, name)
		taken := path + takenSuffix
		if os.Rename(path, taken) != nil {
			continue
		}
		b, err := readAtMost(taken, maxLeft)
		if err == nil {
			err = sv.store.put(b)
		}
		if errors.Is(err, errClosed) {
			_ = os.Rename(taken, path) // for the next process
			return
		}
		_ = os.Remove(taken) // otherwise the next process does
	}
}
