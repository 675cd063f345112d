//go:build unix

package symfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// mapFile maps a regular file for reading. A pipe or a device in its place must not block or be read.
func mapFile(path string) ([]byte, fs.FileInfo, func() error, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	size := int(stat.Size())
	if size == 0 || int64(size) != stat.Size() {
		return nil, stat, func() error { return nil }, nil
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("map: %w", err)
	}
	return data, stat, func() error { return syscall.Munmap(data) }, nil
}
