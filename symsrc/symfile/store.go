package symfile

import (
	"cmp"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc/diskcache"
)

// maxOpen bounds the files that are kept open, maxHeld the memory that they take together, in bytes, and checkEvery is how long one
// is taken to be the one on disk.
const (
	maxOpen    = 64
	maxHeld    = 512 << 20
	checkEvery = time.Second
)

// store keeps files open. Its zero value is ready for use.
type store struct {
	mu    sync.Mutex
	files map[string]*opened
	clock int64
	most  int64 // bytes of memory, in place of maxHeld in tests
}

// opened is a file that was opened, or could not be.
type opened struct {
	once  sync.Once
	ready atomic.Bool // what follows is known
	*file
	err  error
	stat os.FileInfo // of a file that could not be used; nil where there is none

	// What follows is for the store, under its lock.
	users   int
	used    int64
	checked time.Time
	dropped bool // it is to be closed by its last user
}

// open returns the file at path; release must follow where that succeeds.
func (s *store) open(path string) (*opened, error) {
	s.mu.Lock()
	if s.files == nil {
		s.files = make(map[string]*opened)
	}
	o := s.files[path]
	if o != nil && time.Since(o.checked) >= checkEvery {
		if o.checked = time.Now(); o.changed(path) {
			s.drop(path, o)
			o = nil
		}
	}
	if o == nil {
		s.makeRoom()
		o = &opened{checked: time.Now()}
		s.files[path] = o
	}
	s.clock++
	o.users, o.used = o.users+1, s.clock
	s.mu.Unlock()

	o.once.Do(func() {
		if o.file, o.err = open(path); o.err != nil {
			o.stat, _ = os.Stat(path)
		} else {
			o.stat = o.file.stat
		}
		o.ready.Store(true)
	})
	if o.err != nil {
		s.release(o)
		return nil, o.err
	}
	return o, nil
}

// release ends the use of a file.
func (s *store) release(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	if o.dropped {
		o.close()
		return
	}
	if o.file != nil && o.held() > 0 {
		s.shrink(o)
	}
}

// shrink drops the files that were not used for the longest time, while they take too much memory with keep. The lock is held.
func (s *store) shrink(keep *opened) {
	for {
		held := int64(0)
		var oldest *opened
		which := ""
		for path, o := range s.files {
			if !o.ready.Load() || o.file == nil || o.held() == 0 {
				continue
			}
			held += o.held()
			if o != keep && o.users == 0 && (oldest == nil || o.used < oldest.used) {
				oldest, which = o, path
			}
		}
		if held <= cmp.Or(s.most, maxHeld) || oldest == nil {
			return
		}
		s.drop(which, oldest)
	}
}

// changed reports whether the file on disk is another one by now. One that could not be opened may be there by now.
func (o *opened) changed(path string) bool {
	if !o.ready.Load() {
		return false // it is being opened
	}
	return o.stat == nil || diskcache.Changed(path, o.stat)
}

// makeRoom drops the file that was not used for the longest time, where there are too many. The lock is held.
func (s *store) makeRoom() {
	if len(s.files) < maxOpen {
		return
	}
	var oldest *opened
	which := ""
	for path, o := range s.files {
		if oldest == nil || o.used < oldest.used {
			oldest, which = o, path
		}
	}
	s.drop(which, oldest)
}

// drop forgets a file, and closes it unless it is in use. The lock is held.
func (s *store) drop(path string, o *opened) {
	delete(s.files, path)
	if o.dropped = true; o.users == 0 {
		o.close()
	}
}

func (o *opened) close() {
	if o.file != nil {
		o.unmap() // of what was only read, nothing can be lost
	}
}

// close gives up all files.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, o := range s.files {
		s.drop(path, o)
	}
}
