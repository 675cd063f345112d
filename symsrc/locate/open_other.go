//go:build !unix

package locate

import (
	"os"

	"qss-filter/symsrc/diskcache"
)

// regularFile is an open regular file.
type regularFile struct {
	*os.File
	diskcache.Stamp
}

// openRegular opens a regular file for reading, and no other kind of file. With follow, path may be a symbolic link.
func openRegular(path string, follow bool) (*regularFile, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	fi, err := look(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, notRegular(fi.Mode())
	}
	return openListed(path)
}

// openListed opens a file that a directory listing has just shown as regular.
func openListed(path string) (*regularFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = notRegular(fi.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &regularFile{f, diskcache.StampOf(path, fi)}, nil
}

func (f *regularFile) close() { f.Close() }
