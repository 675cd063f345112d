//go:build darwin || freebsd || netbsd

package debuginfod

import (
	"io/fs"
	"syscall"
	"time"
)

// accessed is when a file was read last; false where the system does not say.
func accessed(st fs.FileInfo) (time.Time, bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(sys.Atimespec.Unix()), true
}
