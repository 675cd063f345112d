package diskcache

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestAvailable counts in the fragments of statvfs(3): FUSE has blocks of 4 KiB, and may tell of transfers of 1 MiB. What is counted
// in transfers is 256 times too much, and a disk that is nearly full is filled.
func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		st   unix.Statfs_t
		want int64
	}{
		{unix.Statfs_t{Bavail: 10, Bsize: 4096, Frsize: 4096}, 40960},
		{unix.Statfs_t{Bavail: 10, Bsize: 1 << 20, Frsize: 4096}, 40960},
		{unix.Statfs_t{Bavail: 10, Bsize: 512}, 5120},
		{unix.Statfs_t{Bavail: 1 << 62, Bsize: 4096, Frsize: 4096}, 1 << 52},
	} {
		if got := available(&c.st); got != c.want {
			t.Errorf("%+v: %d bytes, want %d", c.st, got, c.want)
		}
	}
}
