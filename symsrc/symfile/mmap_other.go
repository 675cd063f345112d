//go:build !unix

package symfile

import (
	"fmt"
	"io/fs"
	"os"
)

// mapFile reads a regular file where it cannot be mapped.
func mapFile(path string) ([]byte, fs.FileInfo, func() error, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	data, err := os.ReadFile(path)
	return data, stat, func() error { return nil }, err
}
