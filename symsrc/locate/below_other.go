//go:build !linux

package locate

import "io/fs"

// inodeOf returns what identifies a file, if the system says it.
func inodeOf(fs.FileInfo) (at inode, ok bool) { return inode{}, false }

// isRemote reports whether a directory is on a file system of another machine.
func isRemote(string) bool { return false }
