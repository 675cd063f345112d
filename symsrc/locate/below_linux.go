package locate

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// inodeOf returns what identifies a file.
func inodeOf(info fs.FileInfo) (at inode, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{uint64(st.Dev), uint64(st.Ino)}, true
}

// remote are file systems of other machines, and of programs that may ask some: a look at them may take any time (statfs(2)).
var remote = map[int64]bool{
	unix.NFS_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true,
	unix.FUSE_SUPER_MAGIC: true, unix.V9FS_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.AFS_SUPER_MAGIC: true,
	unix.AFS_FS_MAGIC: true, unix.CODA_SUPER_MAGIC: true, unix.AUTOFS_SUPER_MAGIC: true,
}

// isRemote reports whether a directory is on a file system of another machine.
func isRemote(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) != nil || remote[int64(st.Type)]
}
