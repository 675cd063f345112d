//go:build !unix

package mapped

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open reads a regular file where it cannot be mapped.
func Open(path string) (data []byte, stat fs.FileInfo, close func() error, err error) {
	stat, err = os.Stat(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	data, err = os.ReadFile(path)
	return data, stat, func() error { return nil }, err
}

// Whole reads an open file where it cannot be mapped. stat is its FileInfo.
func Whole(file *os.File, stat fs.FileInfo) (data []byte, close func() error, err error) {
	data = make([]byte, stat.Size())
	_, err = io.ReadFull(io.NewSectionReader(file, 0, stat.Size()), data)
	return data, func() error { return nil }, err
}

// openPart reads size bytes of a file at off, which are there.
func openPart(path string, off, size int64) ([]byte, fs.FileInfo, func() error, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(file, off, size), data); err != nil {
		return nil, nil, nil, err
	}
	return data, stat, func() error { return nil }, nil
}
