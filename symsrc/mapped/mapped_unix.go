//go:build unix

package mapped

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"qss-filter/symsrc/pages"
)

// Open maps a regular file for reading. The path may come from a log: a pipe or a device must not block or be read. close ends
// the mapping.
func Open(path string) (data []byte, stat fs.FileInfo, close func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	stat, err = file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	data, close, err = Whole(file, stat)
	if err != nil {
		return nil, nil, nil, err
	}
	return data, stat, close, nil
}

// Whole maps an open file for reading. stat is its FileInfo. close ends the mapping.
func Whole(file *os.File, stat fs.FileInfo) (data []byte, close func() error, err error) {
	size := int(stat.Size())
	if size == 0 || int64(size) != stat.Size() {
		return nil, func() error { return nil }, nil
	}
	pages.Room() // what is read of the file needs memory
	data, err = syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map: %w", err)
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}

// openPart maps size bytes of a file at off, which are there.
func openPart(path string, off, size int64) ([]byte, fs.FileInfo, func() error, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	if stat.Size() < off+size || !stat.Mode().IsRegular() { // another file has taken its place
		return nil, nil, nil, errShort
	}
	before := off % int64(os.Getpagesize())
	n := int(size + before)
	if int64(n) != size+before {
		return nil, nil, nil, fmt.Errorf("map: %w", syscall.EFBIG)
	}
	pages.Room()
	data, err := syscall.Mmap(int(file.Fd()), off-before, n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("map: %w", err)
	}
	return data[before:], stat, func() error { return syscall.Munmap(data) }, nil
}
