//go:build unix

package meter

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// used asks the system what the process has used.
func used() (u usage) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return u
	}
	u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	u.peak = int64(r.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // where it is bytes; elsewhere KiB (getrusage(2))
		u.peak <<= 10
	}
	return u
}
