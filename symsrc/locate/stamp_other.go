//go:build !unix

package locate

import (
	"hash/fnv"
	"io/fs"
	"os"
)

// stampAt gives the stamp of the regular file at path. With follow, path may be a symbolic link.
func stampAt(path string, follow bool) (stamp, error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	fi, err := look(path)
	if err != nil {
		return stamp{}, err
	}
	if !fi.Mode().IsRegular() {
		return stamp{}, notRegular(fi.Mode())
	}
	return stampOf(path, fi), nil
}

// stampOf takes the path for the inode, which is not to be had everywhere.
func stampOf(path string, fi fs.FileInfo) stamp {
	h := fnv.New64a()
	h.Write([]byte(path))
	return stamp{inode: h.Sum64(), size: fi.Size(), mtime: fi.ModTime().UnixNano()}
}

// isPrivateDir tells whether path is a directory; whose it is is not to be known everywhere.
func isPrivateDir(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}
