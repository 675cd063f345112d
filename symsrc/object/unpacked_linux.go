package object

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"qss-filter/symsrc/diskcache"
)

// bootID returns the kernel's ID of the current boot, or "" if it is unknown.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) > 64 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

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

// mapCopy maps the copy. It returns nil if the copy does not exist or is not valid.
func (t *unpackedCache) mapCopy(w *unpackedCopy) (mapped []byte, unmap func() error) {
	path := filepath.Join(t.dir, w.name)
	file, stat, err := diskcache.Open(path)
	if err != nil {
		return nil, nil
	}
	defer file.Close()
	if !w.isValid(stat) {
		return nil, nil
	}
	head := make([]byte, copyPage)
	if _, err := file.ReadAt(head, 0); err != nil || !bytes.Equal(head, w.header) {
		return nil, nil
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(w.size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil
	}
	diskcache.Touch(path, stat)
	w.stat = stat
	return data, func() error { return syscall.Munmap(data) }
}
