package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"qss-filter/symsrc"
)

var errShort = errors.New("the file ends before its part")

// OpenRange maps an ELF file that is a part of the file at path. Its errors carry a StatusError.
func OpenRange(path string, r symsrc.Range) (*File, error) { return openRangeBy(path, r, &ourPolicy) }

func openRangeBy(path string, r symsrc.Range, by *policy) (*File, error) {
	if r.Whole() {
		return openBy(path, by)
	}
	data, stat, unmap, err := mapRange(path, r)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", r.Of(path), withStatus(err))
	}
	f, err := newFileBy(data, by)
	if err != nil {
		unmap()
		return nil, fmt.Errorf("open %s: %w", r.Of(path), err)
	}
	f.stat, f.unmap, f.path, f.start = stat, unmap, path, r.Offset
	f.deps.allow(f, mapRegular)
	return f, nil
}

// mapRange maps a part of a regular file. What is mapped begins with the page that the part begins in.
func mapRange(path string, r symsrc.Range) ([]byte, fs.FileInfo, func() error, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	if r.Offset < 0 || r.Size <= 0 || r.Size > stat.Size() || r.Offset > stat.Size()-r.Size {
		return nil, nil, nil, errShort
	}
	return mapPart(path, r.Offset, r.Size)
}
