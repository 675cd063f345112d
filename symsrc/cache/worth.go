package cache

import (
	"context"
	"time"

	"qss-filter/symsrc"
)

// full tells whether an answer is all that any file of this build could say: it must not stand in the way of a richer file
// that is found later. So it is where a file with debug information was read that was compared with the build ID, nothing
// was missing that it refers to, and the name is from a symbol table: that of the debug information alone may lack a suffix.
// Variables are known to the symbol table only, which comes whole with debug information.
func full(q symsrc.Addr, a *symsrc.Answer) bool {
	n := len(a.Frames)
	if n == 0 || a.Partial || a.Files == nil || a.Files.DebugStatus != symsrc.OK || a.Files.Unverified && q.Module.BuildID != "" {
		return false
	}
	for i := range a.Frames {
		if a.Frames[i].Func == "" {
			return false
		}
	}
	return q.Kind == symsrc.Data || a.Frames[n-1].Origin != symsrc.DebugOnly
}

// dated are files with what Made says of them.
type dated struct {
	files *symsrc.Files
	made  time.Time
}

// made is when the files that an answer is from were made. Answers of the same files follow each other.
func (s *Source) made(files *symsrc.Files) time.Time {
	last := s.last.Load()
	if last == nil || last.files != files {
		last = &dated{files, files.Made()}
		s.last.Store(last)
	}
	return last.made
}

// identity is what a module's answers are kept under.
type identity struct {
	text  string        // the build ID, or a hash of the files; "" where they are not kept
	files *symsrc.Files // of a module without a build ID
	at    time.Time
}

// identityTime is how long files are taken to be those on disk, as the engine does.
const identityTime = time.Second

// identify gives the identity of a module. Without a build ID that is the files', which are looked for then.
func (s *Source) identify(ctx context.Context, m symsrc.Module) identity {
	if m.BuildID != "" {
		return identity{text: string(m.BuildID)}
	}
	if s.opt.Finder == nil || m.Name == "" {
		return identity{}
	}
	s.mu.Lock()
	id, ok := s.files[m]
	s.mu.Unlock()
	if ok && time.Since(id.at) < identityTime && (id.files == nil || !id.files.Watch.Changed()) {
		return id
	}
	files := s.opt.Finder.Find(ctx, m)
	id = identity{filesIdentity(files), files, time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) >= maxAhead {
		clear(s.files)
	}
	s.files[m] = id
	return id
}

// from tells whether an answer from these files is one of that identity: that they are verified, or still the same as
// when the identity was taken.
func (s *Source) from(m symsrc.Module, id identity, files *symsrc.Files) bool {
	if m.BuildID != "" {
		return !files.Unverified
	}
	return files == id.files && filesIdentity(files) == id.text
}
