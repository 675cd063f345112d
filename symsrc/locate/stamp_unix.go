//go:build unix

package locate

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// stampAt gives the stamp of the regular file at path. With follow, path may be a symbolic link.
func stampAt(path string, follow bool) (stamp, error) {
	var st unix.Stat_t
	look := unix.Lstat
	if follow {
		look = unix.Stat
	}
	if _, err := retry(func() (int, error) { return 0, look(path, &st) }); err != nil {
		return stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return stamp{}, notRegular(fs.ModeIrregular)
	}
	return stampOf(&st), nil
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{uint64(st.Ino), st.Size, unix.TimespecToNsec(st.Mtim), unix.TimespecToNsec(st.Ctim)}
}

// private tells whether a file or directory is the user's own and nobody else may use it.
func private(st *unix.Stat_t) bool {
	return st.Uid == uint32(os.Geteuid()) && st.Mode&0o077 == 0
}

// isPrivateDir tells whether path is a directory, not a link to one, that is the user's own and nobody else's.
func isPrivateDir(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && private(&st)
}
