package locate

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// place is where a file may be.
type place struct {
	// root is the directory in which path is resolved, as in a chroot. It is "" if the user named path or a directory above it;
	// path is then opened unchanged.
	root string
	path string
	// member is the ELF file in the archive at path; nil if it is that file itself.
	member *member
	// dirs remembers directories of roots; nil to resolve each one again.
	dirs *knownDirs
}

// String returns the place's path on the host, before links are resolved, and after "!" the name in the archive.
func (p place) String() string {
	name := p.onHost()
	if p.member != nil {
		name += "!" + p.member.title()
	}
	return name
}

// onHost returns the path on the host, before links are resolved.
func (p place) onHost() string {
	if p.root == "" {
		return p.path
	}
	return hostPath(p.root, path.Clean("/"+p.path))
}

// found is a file that could be read.
type found struct {
	ident
	place  place
	path   string // to open it
	part   symsrc.Range
	byPath bool   // see symsrc.Files
	inside string // its path inside place.root with all links resolved; "" without a root
	// opened is the path of the file, or of its archive, when it was opened, and stamp that file's stamp at that time.
	opened string
	stamp  diskcache.Stamp
}

// name returns the path to open it, with the name in the archive.
func (f *found) name() string { return f.part.Of(f.path) }

// open opens the file at p. The error is a *fileError.
func (p place) open() (*found, *regularFile, error) {
	f := &found{place: p, path: p.path}
	if p.root != "" {
		r, err := p.dirs.resolve(p.root, p.path)
		if err != nil {
			return nil, nil, classify(err)
		}
		f.inside, f.path = r.inside, p.onHost()
		if !r.exact || strings.Contains(p.path, "..") {
			f.path = hostPath(p.root, r.inside)
		}
	}
	file, err := openRegular(f.openPath(), p.root == "")
	if err != nil {
		return nil, nil, classify(err)
	}
	f.opened, f.stamp = f.path, file.Stamp
	return f, file, nil
}

// probe opens and identifies the file at p, which is not a member of an archive. The error is a *fileError.
func probe(p place) (*found, error) {
	f, file, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.close()
	id, err := identify(file, file.Size)
	if err != nil {
		return nil, err
	}
	f.ident = *id
	return f, nil
}

// classify returns the *fileError of a file that cannot be opened.
func classify(err error) *fileError {
	var fe *fileError
	switch {
	case errors.As(err, &fe):
		return fe
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG),
		errors.Is(err, errNoPath):
		return &fileError{symsrc.NotFound, symsrc.NothingFound, err}
	case errors.Is(err, fs.ErrPermission):
		return &fileError{symsrc.NoReadPermission, "cannot open file", err}
	case errors.Is(err, errLoop), errors.Is(err, syscall.ELOOP):
		return &fileError{symsrc.ReadError, errLoop.Error(), err}
	}
	return &fileError{symsrc.ReadError, "read error", err}
}
