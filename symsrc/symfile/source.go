// Package symfile answers from Breakpad and GSYM files where there is no debug information in ELF files.
package symfile

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"qss-filter/symsrc"
)

// Placer knows the headers of the modules' ELF files.
type Placer interface {
	// Place returns the address of a question in the address space of the module's file, and where that is loaded by its own
	// account. It is false where there is no file.
	Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool)
}

// Source answers as the source behind it, whose answers name the symbol files that were found, and from these files where
// that knows no lines for want of debug information. It may be used by several goroutines at once.
type Source struct {
	behind symsrc.Source
	placer Placer
	files  store

	mu    sync.Mutex
	known map[*symsrc.Files]*symsrc.Files
	// failed are those whose symbol files are of no use.
	failed map[*symsrc.Files]*symsrc.Files
}

// maxKnown bounds the modules remembered.
const maxKnown = 1 << 14

// Wrap puts the symbol files behind a source. placer is asked where in a module an address lies.
func Wrap(behind symsrc.Source, placer Placer) *Source {
	return &Source{behind: behind, placer: placer, known: make(map[*symsrc.Files]*symsrc.Files), failed: make(map[*symsrc.Files]*symsrc.Files)}
}

// Frames answers one question. An answer from a symbol file, also that it has nothing at the address, is Partial: there may be
// debug information later.
func (s *Source) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := s.behind.Frames(ctx, q)
	if q.Kind != symsrc.Code || a.Files == nil || len(a.Files.Symbols) == 0 || a.Files.DebugStatus == symsrc.OK || hasLines(a.Frames) {
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

// ask answers from one symbol file. placed is false where it is not known which address of the file is meant.
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

// read says of which file an error is.
func read(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// hasLines reports whether an answer says where in the source an address is.
func hasLines(frames []symsrc.Frame) bool {
	for i := range frames {
		if frames[i].Line > 0 {
			return true
		}
	}
	return false
}

// better takes the frames of a symbol file where they say more than those of a symbol table. The physical function is called
// as that has it, as it is with debug information.
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

// with returns the files of a module with the symbol file that is used in the place of a debug file.
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

// Probe says what the machine code around an address shows, if the source behind can tell.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	if p, ok := s.behind.(symsrc.Prober); ok {
		return p.Probe(ctx, q)
	}
	return symsrc.Probe{}
}

// Prefetcher returns that of the source behind.
func (s *Source) Prefetcher() symsrc.Prefetcher { return symsrc.PrefetcherOf(s.behind) }

// Close gives up all files. The Source must not be asked any more.
func (s *Source) Close() { s.files.close() }
