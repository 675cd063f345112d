// Package mapped opens files of symbols as bytes in memory, which are read as they are wanted.
package mapped

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

var errShort = errors.New("the file ends before its part")

// OpenPart maps size bytes of a regular file at off for reading. What is mapped begins with the page that the part begins in. close ends
// the mapping.
func OpenPart(path string, off, size int64) (data []byte, stat fs.FileInfo, close func() error, err error) {
	stat, err = os.Stat(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	if off < 0 || size <= 0 || size > stat.Size() || off > stat.Size()-size {
		return nil, nil, nil, errShort
	}
	return openPart(path, off, size)
}
