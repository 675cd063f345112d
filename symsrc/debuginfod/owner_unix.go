//go:build unix

package debuginfod

import (
	"io/fs"
	"syscall"
)

// owner is the user that a file belongs to; false where the system does not say.
func owner(st fs.FileInfo) (uid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(sys.Uid), true
}
