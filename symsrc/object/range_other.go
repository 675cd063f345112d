//go:build !unix

package object

import (
	"io"
	"io/fs"
	"os"
)

// mapPart reads size bytes of a file at off, which are there.
func mapPart(path string, off, size int64) ([]byte, fs.FileInfo, func() error, error) {
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
