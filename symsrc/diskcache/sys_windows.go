package diskcache

import (
	"hash/fnv"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// hasOwners says that the owners and permissions of files are not known: the user's own profile is believed, which other users
// cannot write to.
const hasOwners = false

const openFlags = 0

// umask masks nothing: there are no such permissions.
const umask fs.FileMode = 0

// StampAt returns the stamp of the regular file at path. With follow, path may be a symbolic link.
func StampAt(path string, follow bool) (Stamp, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	fi, err := look(path)
	if err != nil {
		return Stamp{}, err
	}
	if !fi.Mode().IsRegular() {
		return Stamp{}, &fs.PathError{Op: "stat", Path: path, Err: ErrNotRegular}
	}
	return StampOf(path, fi), nil
}

// StampOf returns the stamp of the file that fi describes. path is where it lies. A hash of it takes the place of the inode, which is
// not known without opening the file again.
func StampOf(path string, fi fs.FileInfo) Stamp {
	h := fnv.New64a()
	h.Write([]byte(path))
	return Stamp{Inode: h.Sum64(), Size: fi.Size(), Mtime: fi.ModTime().UnixNano()}
}

// Owner returns the user that a file belongs to. ok is false where the system does not say.
func Owner(fs.FileInfo) (uid int, ok bool) { return 0, false }

// writable fails unless this user may create files in a directory. Here the first one that is created shows it.
func writable(string) error { return nil }

// accessed returns the access time. NTFS sets it at Touch, even where reading does not.
func accessed(fi fs.FileInfo) (time.Time, bool) {
	data, ok := fi.Sys().(*syscall.Win32FileAttributeData)
	if !ok {
		return fi.ModTime(), false
	}
	return time.Unix(0, data.LastAccessTime.Nanoseconds()), true
}
