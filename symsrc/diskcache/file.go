// Package diskcache has what all caches on disk need: files that are complete or absent, and stamps by which a changed file is
// recognized (file.go), directories that other users cannot write to (private.go), bounds on the disk space used (space.go), and indexes of
// maps (kept.go).
// It imports nothing of the project. The sys files hold what differs between operating systems.
package diskcache

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// TempPrefix begins the names of temporary files. They are hidden, and say in any directory which program left them.
const TempPrefix = ".qss-filter-"

// File is a file that appears under its name when it is complete: until then it has a temporary name in the same directory, so
// that the renaming is atomic. Readers see the file that was there before, or the new one. Only this user can read it, until it is
// committed.
//
// Commit does not call Sync. A crash of the machine may then leave the name with only a part of the content. A caller whose readers
// cannot detect that calls Sync first.
//
// A File of Output or OutputIn is the device or pipe itself where one has the name, for a file in its place would be the end of it.
type File struct {
	*os.File
	mode           fs.FileMode // when it is committed; 0 leaves it private
	rename, remove func() error
	done           bool
}

// Create begins the file at path.
func Create(path string) (*File, error) { return CreateNamed(path, TempPrefix) }

// CreateNamed begins the file at path, under a temporary name that begins with prefix: that of a cache which other programs use
// too, and whose names they know.
func CreateNamed(path, prefix string) (*File, error) {
	dir := filepath.Dir(path)
	file, name, err := temporary(prefix, func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(dir, name), createFlags, 0o600)
	})
	if err != nil {
		return nil, err
	}
	name = filepath.Join(dir, name)
	return &File{
		File:   file,
		rename: func() error { return os.Rename(name, path) },
		remove: func() error { return os.Remove(name) },
	}, nil
}

const createFlags = os.O_RDWR | os.O_CREATE | os.O_EXCL

// temporary creates a file with a name that is not taken.
func temporary(prefix string, create func(name string) (*os.File, error)) (file *os.File, name string, err error) {
	const tries = 1000
	for range tries {
		name = fmt.Sprintf("%s%016x", prefix, rand.Uint64())
		if file, err = create(name); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, name, err
}

// Output begins a file that the user has named. It gets the permissions of any new file.
func Output(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && IsSpecial(info) {
		return inPlace(os.OpenFile(path, os.O_WRONLY, 0))
	}
	f, err := Create(path)
	if err != nil {
		return nil, err
	}
	f.mode = 0o666 &^ umask
	return f, nil
}

// OutputIn begins a file below root, and never outside of it, whatever links are there already. A link in the place of the file is
// replaced. The file gets the permissions of any new file.
func OutputIn(root *os.Root, path string) (*File, error) {
	if info, err := root.Lstat(path); err == nil && IsSpecial(info) {
		return inPlace(root.OpenFile(path, os.O_WRONLY, 0))
	}
	dir := filepath.Dir(path)
	file, name, err := temporary(TempPrefix, func(name string) (*os.File, error) {
		return root.OpenFile(filepath.Join(dir, name), createFlags, 0o600)
	})
	if err != nil {
		return nil, err
	}
	name = filepath.Join(dir, name)
	return &File{
		File:   file,
		mode:   0o666 &^ umask,
		rename: func() error { return root.Rename(name, path) },
		remove: func() error { return root.Remove(name) },
	}, nil
}

// IsSpecial reports whether a file is a device, a pipe or the like.
func IsSpecial(info fs.FileInfo) bool {
	return !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// inPlace returns a special file as a File.
func inPlace(file *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	nothing := func() error { return nil }
	return &File{File: file, rename: nothing, remove: nothing}, nil
}

// Commit closes the file and renames it. If that fails, the file is removed.
func (f *File) Commit() error {
	var err error
	if f.mode != 0 {
		err = f.Chmod(f.mode)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = f.rename()
	}
	if err != nil {
		_ = f.remove() // the first error says more
	}
	f.done = true
	return err
}

// Abort closes and removes a file that was not committed. After Commit it does nothing, so that it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.Close()
	_ = f.remove() // Evict removes what stays
}

// WriteFile puts a file with that content, which only this user can read, in the place of what is at path.
func WriteFile(path string, content []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}

// Stamp is what distinguishes a file from all others, and from itself before it was changed. Stamps are compared with ==. The zero
// Stamp is of no file.
//
// Each field is needed:
//   - Device and Inode distinguish a file from the one that was renamed to its name. Inode alone does not: images of file systems
//     such as squashfs number their files in order, and when they are built reproducibly all of their times are the same. Two
//     releases of a library in two mounted images may differ only in Device.
//   - Mtime shows that the content was written, in steps of the file system's clock, which may be as long as two seconds.
//   - Ctime shows what Mtime does not: a file that was overwritten in place, and whose Mtime was then set back, as `cp -p` does.
//     No program can set it.
//
// A device's number may change when the machine starts. A Stamp that was stored then differs from that of the same file, which
// costs the work of reading it again, and never gives a wrong result.
type Stamp struct {
	Device, Inode uint64
	Size          int64
	Mtime, Ctime  int64 // nanoseconds since 1970: the last change of the content, and of anything
}

// String returns the fields in order, with spaces between them.
func (s Stamp) String() string {
	return fmt.Sprint(s.Device, " ", s.Inode, " ", s.Size, " ", s.Mtime, " ", s.Ctime)
}

// Last returns when the file was last changed in any way: its content, its name or its owner. It is the zero Time for the zero Stamp.
func (s Stamp) Last() time.Time {
	if s == (Stamp{}) {
		return time.Time{}
	}
	return time.Unix(0, max(s.Mtime, s.Ctime))
}

// ErrNotRegular is the error for a directory, a device, and whatever else is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// Changed reports whether the file at path is no longer the one that before describes, because it was written, replaced or
// removed. path may be a symbolic link. before is what Stat returned for path, or for the open file.
func Changed(path string, before fs.FileInfo) bool {
	now, err := StampAt(path, true)
	return err != nil || now != StampOf(path, before)
}
