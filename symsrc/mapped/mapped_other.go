//go:build !unix

package mapped

import (
	"fmt"
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
