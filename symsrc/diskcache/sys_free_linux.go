package diskcache

import "golang.org/x/sys/unix"

// free counts blocks of f_frsize bytes, as statvfs(3) and df(1) do. f_bsize is the size that is best for transfers, which FUSE and
// some network file systems make many times larger.
func free(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return available(&st), true
}

// available is the space of a file system that a user may write, in bytes. More than 2^40 blocks are not counted, so that nothing
// overflows. Old kernels leave f_frsize zero.
func available(st *unix.Statfs_t) int64 {
	size := int64(st.Frsize)
	if size == 0 {
		size = int64(st.Bsize)
	}
	return int64(min(st.Bavail, 1<<40)) * size
}
