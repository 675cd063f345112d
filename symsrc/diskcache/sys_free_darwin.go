package diskcache

import "golang.org/x/sys/unix"

// free counts blocks of f_bsize bytes. The size that is best for transfers is f_iosize here.
func free(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(min(st.Bavail, 1<<40)) * int64(st.Bsize), true
}
