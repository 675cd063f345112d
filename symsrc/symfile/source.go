// Package symfile answers from Breakpad and GSYM files if ELF files have no debug information.
package symfile

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Placer knows the headers of the modules' ELF files.
type Placer interface {
	// Place returns the address of a query in the address space of the module's file, and the load address in that file's
	// headers. ok is false if there is no file.
	Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool)
}

// Source answers from the wrapped source, whose answers name the symbol files that were found, and from these files if
// the wrapped source has no lines because there is no debug information. It may be used by several goroutines at once.
type Source struct {
	behind symsrc.Source
	placer Placer
	files  store

	mu    sync.Mutex
	known map[*symsrc.Files]*symsrc.Files
	// failed are those whose symbol files cannot be used.
	failed map[*symsrc.Files]*symsrc.Files
}

// maxKnown bounds the remembered modules.
const maxKnown = 1 << 14

// Wrap returns a source that uses symbol files after another source. placer finds the place of an address in a module.
func Wrap(behind symsrc.Source, placer Placer) *Source {
	return &Source{behind: behind, placer: placer, known: make(map[*symsrc.Files]*symsrc.Files), failed: make(map[*symsrc.Files]*symsrc.Files)}
}

// Frames answers one query. An answer from a symbol file is Partial, even if it has nothing at the address: there may be
// debug information later.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := s.behind.Frames(ctx, q)
	if q.Kind != symsrc.Code && q.Kind != symsrc.Detailed || a.Files == nil || len(a.Files.Symbols) == 0 || a.Files.DebugStatus == symsrc.OK || hasLines(a.Frames) {
		return a
	}
	var failed error
	for _, path := range a.Files.Symbols {
		frames, placed, err := s.ask(ctx, path, q, a.Files)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		if placed {
			a.Files, a.Partial = s.with(a.Files, path), true
			a.Frames = better(a.Frames, frames)
		}
		return a
	}
	if failed != nil {
		a.Files, a.Partial = s.without(a.Files, failed), true
	}
	return a
}

// ask answers from one symbol file. placed is false if the address in the file is not known.
func (s *Source) ask(ctx context.Context, path string, q symsrc.Addr, files *symsrc.Files) (frames []symsrc.Frame, placed bool, err error) {
	f, err := s.files.open(path)
	if err != nil {
		return nil, false, err
	}
	defer s.files.release(f)
	if files.Usable() {
		addr, base, ok := s.placer.Place(ctx, q)
		if ok {
			frames, err = f.frames(addr, base)
		}
		return frames, ok, read(path, err)
	}
	frames, placed, err = f.unplaced(q)
	return frames, placed, read(path, err)
}

// read adds the path to an error.
func read(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// hasLines reports whether an answer has a source line.
func hasLines(frames []symsrc.Frame) bool {
	for i := range frames {
		if frames[i].Line > 0 {
			return true
		}
	}
	return false
}

// better returns the frames of a symbol file if they say more than those of a symbol table. The physical function has its name
// from the symbol table, as with debug information.
func better(table, file []symsrc.Frame) []symsrc.Frame {
	switch {
	case len(table) == 0:
		return file
	case !hasLines(file):
		return table
	}
	if name := &table[len(table)-1]; name.Func != "" {
		outer := &file[len(file)-1]
		outer.Func, outer.Linkage, outer.Origin = name.Func, name.Linkage, symsrc.SymbolAndDebug
	}
	return file
}

// with returns the files of a module with a symbol file in place of a debug file.
func (s *Source) with(files *symsrc.Files, path string) *symsrc.Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := s.known[files]; more != nil && more.Debug == path {
		return more
	}
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	more := *files
	more.Debug, more.DebugRange, more.DebugStatus = path, symsrc.Range{}, symsrc.OK
	if files.ElfStatus == symsrc.OK {
		more.Note, more.Detail = "", ""
	}
	s.known[files] = &more
	return &more
}

// without returns the files of a module none of whose symbol files could be used, with the reason.
func (s *Source) without(files *symsrc.Files, why error) *symsrc.Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := s.failed[files]; more != nil {
		return more
	}
	if len(s.failed) >= maxKnown {
		clear(s.failed)
	}
	more := *files
	if more.DebugStatus == symsrc.NotFound || more.DebugStatus == symsrc.Incomplete {
		more.DebugStatus = symsrc.Corrupted
	}
	if more.Note != "" {
		more.Note += "; "
	}
	more.Note += why.Error()
	s.failed[files] = &more
	return &more
}

// Probe returns what the machine code around an address shows, if the wrapped source is a Prober.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := s.behind.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}

// Prefetcher returns the Prefetcher of the wrapped source.
func (s *Source) Prefetcher() symsrc.Prefetcher { return symsrc.PrefetcherOf(s.behind) }

// Close closes all files. The Source must not be used after that.
func (s *Source) Close() { s.files.close() }

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

// close closes all files.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, o := range s.files {
		s.drop(path, o)
	}
}
