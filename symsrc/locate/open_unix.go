//go:build unix

package locate

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"qss-filter/symsrc/diskcache"
)

// regularFile is an open regular file. It is not an os.File: tens of thousands are opened for an index, and the runtime's
// poller and finalizers would be most of the cost.
type regularFile struct {
	fd int
	diskcache.Stamp
}

// openRegular opens a regular file for reading, and no other kind of file. It checks that before opening, since opening a
// device may act on it, and again afterwards. O_NONBLOCK prevents blocking if a FIFO has replaced the file.
// With follow, path may be a symbolic link.
func openRegular(path string, follow bool) (*regularFile, error) {
	look, flags := os.Lstat, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NOFOLLOW
	if follow {
		look, flags = os.Stat, flags&^unix.O_NOFOLLOW
	}
	fi, err := look(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, notRegular(fi.Mode())
	}
	return openAs(path, flags)
}

// openListed opens a file that a directory listing has just shown as regular.
func openListed(path string) (*regularFile, error) {
	return openAs(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NOFOLLOW)
}

func openAs(path string, flags int) (*regularFile, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, flags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	s, err := diskcache.StampOfDescriptor(fd)
	switch {
	case errors.Is(err, diskcache.ErrNotRegular):
		unix.Close(fd)
		return nil, notRegular(fs.ModeIrregular)
	case err != nil:
		unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return &regularFile{fd, s}, nil
}

// ReadAt implements io.ReaderAt.
func (f *regularFile) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		n, err := retry(func() (int, error) { return unix.Pread(f.fd, b[done:], off+int64(done)) })
		if err != nil {
			return done, os.NewSyscallError("pread", err)
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

func (f *regularFile) close() { unix.Close(f.fd) }

// retry repeats a system call that a signal has interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
