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

// bootID names the time since the machine was started; "" where that is not known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) > 64 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// lockFile locks a file, which is made where there is none, until it is closed. It fails where another one has it.
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

// mapCopy maps the copy if it is there and sound; nil otherwise.
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
	if _, err := file.ReadAt(head, 0); err != nil || !bytes.Equal(head, w.head) {
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
