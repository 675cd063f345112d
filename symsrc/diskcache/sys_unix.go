//go:build unix

package diskcache

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hasOwners says that files have owners and permissions.
const hasOwners = true

// openFlags let a link fail, and a pipe that has the place of a file not block.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// umask is the process's mask for the permissions of new files. It can be read only by setting it, so this is done before anything
// runs.
var umask = func() fs.FileMode {
	mask := unix.Umask(0)
	unix.Umask(mask)
	return fs.FileMode(mask)
}()

// StampAt returns the stamp of the regular file at path. With follow, path may be a symbolic link. It makes no fs.FileInfo: trees
// have tens of thousands of files.
func StampAt(path string, follow bool) (Stamp, error) {
	look := unix.Lstat
	if follow {
		look = unix.Stat
	}
	var st unix.Stat_t
	err := look(path, &st)
	for errors.Is(err, unix.EINTR) {
		err = look(path, &st)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		return Stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return stampOf(&st), nil
}

// StampOfDescriptor returns the stamp of an open regular file.
func StampOfDescriptor(fd int) (Stamp, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotRegular
	}
	if err != nil {
		return Stamp{}, err
	}
	return stampOf(&st), nil
}

func stampOf(st *unix.Stat_t) Stamp {
	return Stamp{uint64(st.Dev), uint64(st.Ino), st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}
}

// StampOf returns the stamp of the file that fi describes. path is where it lies.
func StampOf(_ string, fi fs.FileInfo) Stamp {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	_, ctime := times(st)
	return Stamp{uint64(st.Dev), uint64(st.Ino), st.Size, fi.ModTime().UnixNano(), ctime.UnixNano()}
}

// Owner returns the user that a file belongs to. ok is false where the system does not say.
func Owner(fi fs.FileInfo) (uid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// writable fails unless this user may create files in a directory.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

func accessed(fi fs.FileInfo) (time.Time, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fi.ModTime(), false
	}
	atime, _ := times(st)
	return atime, true
}
