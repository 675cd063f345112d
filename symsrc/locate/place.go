package locate

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"qss-filter/symsrc"
)

// place is where a file may lie.
type place struct {
	// root is the directory that path is resolved in, as in a chroot; "" where path was named by the user, or found below
	// a directory that was, and is opened as it is.
	root string
	path string
}

// String is the place's path on the host, before any link is followed.
func (p place) String() string {
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
	inside string // its path inside place.root with all links followed; "" without a root
}

// probe opens what lies at p and identifies it. Its error is a *fileError.
func probe(p place) (*found, error) {
	f := &found{place: p, path: p.path}
	if p.root != "" {
		r, err := resolve(p.root, p.path)
		if err != nil {
			return nil, classify(err)
		}
		f.inside, f.path = r.inside, p.String()
		if !r.exact || strings.Contains(p.path, "..") {
			f.path = hostPath(p.root, r.inside)
		}
	}
	file, err := openRegular(f.openPath(), p.root == "")
	if err != nil {
		return nil, classify(err)
	}
	defer file.close()
	id, err := identify(file, file.size)
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
		return &fileError{symsrc.NotFound, "elf not found", err}
	case errors.Is(err, fs.ErrPermission):
		return &fileError{symsrc.NoReadPermission, "cannot open file", err}
	case errors.Is(err, errLoop), errors.Is(err, syscall.ELOOP):
		return &fileError{symsrc.ReadError, errLoop.Error(), err}
	}
	return &fileError{symsrc.ReadError, "read error", err}
}
