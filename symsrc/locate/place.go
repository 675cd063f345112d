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

// place is where a file may lie.
type place struct {
	// root is the directory that path is resolved in, as in a chroot; "" where path was named by the user, or found below
	// a directory that was, and is opened as it is.
	root string
	path string
	// member is the ELF file in the archive at path; nil where it is that file itself.
	member *member
	// dirs remembers directories of roots; nil where each is followed anew.
	dirs *knownDirs
}

// String is the place's path on the host, before any link is followed, and behind "!" the name in the archive.
func (p place) String() string {
	name := p.onHost()
	if p.member != nil {
		name += "!" + p.member.name
	}
	return name
}

// onHost is the path on the host, before any link is followed.
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
	path   string // to open it by
	part   symsrc.Range
	inside string // its path inside place.root with all links followed; "" without a root
	// opened is the path by which it, or the archive that it is in, was opened, and stamp that file's stamp then.
	opened string
	stamp  diskcache.Stamp
}

// name is the path to open it by, with the name in the archive.
func (f *found) name() string { return f.part.Of(f.path) }

// open opens what lies at p. Its error is a *fileError.
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

// probe opens what lies at p, which is no member of an archive, and identifies it. Its error is a *fileError.
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

// classify turns the failure to reach a file into the reports' terms.
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
