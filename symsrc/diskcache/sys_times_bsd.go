//go:build darwin || freebsd || netbsd

package diskcache

import (
	"syscall"
	"time"
)

// times returns the times of the last access, and of the last change of anything.
func times(st *syscall.Stat_t) (atime, ctime time.Time) {
	return time.Unix(st.Atimespec.Unix()), time.Unix(st.Ctimespec.Unix())
}
