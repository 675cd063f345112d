package diskcache

import (
	"errors"
	"fmt"
	"io/fs"
)

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

// ErrNotRegular is the error for a directory, a device, and whatever else is not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// Changed reports whether the file at path is no longer the one that before describes, because it was written, replaced or
// removed. path may be a symbolic link. before is what Stat returned for path, or for the open file.
func Changed(path string, before fs.FileInfo) bool {
	now, err := StampAt(path, true)
	return err != nil || now != StampOf(path, before)
}
