//go:build linux || darwin

package locate

import "golang.org/x/sys/unix"

// FreeSpace returns what a directory's disk has left for this user, in bytes; false where that is not known.
func FreeSpace(dir string) (n int64, ok bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(min(uint64(s.Bavail), 1<<40)) * int64(s.Bsize), true
}
