//go:build linux || darwin

package object

import (
	"fmt"
	"os"
	"syscall"
)

// canIndex reports whether this system has indexes.
const canIndex = true

// lockFile opens a file, or creates it, and locks it until it is closed. It fails if another process holds the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
