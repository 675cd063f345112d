//go:build unix

package batch

import (
	"os"
	"syscall"
)

// umask is the process's mask for the permissions of new files. It can only be read by setting it, so before anything runs.
var umask = func() os.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return os.FileMode(mask)
}()
