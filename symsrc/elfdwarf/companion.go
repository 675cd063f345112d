package elfdwarf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/mapped"
)

// maxCompanions bounds how many files the debug information of one file may have opened.
const maxCompanions = 1 << 14

// companionWeight is what a companion takes at least, with its path, in bytes.
const companionWeight = fileWeight

// companions are the files beside a file that its debug information names: opened when they are first needed, closed
// with it.
type companions struct {
	path string // of the file itself
	dwp  string // of the package of its split units; "" for one beside the file
	find opener // nil where there are none

	filesMu sync.Mutex
	opened  []*File
	near    atomic.Int32 // how many are

	splitMu sync.Mutex
	splits  splits

	supOnce sync.Once
	sup     atomic.Pointer[File]
}

// opener gives the bytes of the file at a path, what is known of it, and what gives them up again.
type opener func(path string) ([]byte, fs.FileInfo, func() error, error)

var errTooMany = errors.New("too many files are named by the debug information")

// mapRegular maps a file that debug information names. A hostile one may name any path: what is not a regular file is not
// even opened.
func mapRegular(path string) ([]byte, fs.FileInfo, func() error, error) {
	if stat, err := os.Stat(path); err != nil {
		return nil, nil, nil, err
	} else if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	return mapped.Open(path)
}

// companion opens a file that the debug information names.
func (f *File) companion(path string, split bool) (*File, error) {
	f.filesMu.Lock()
	defer f.filesMu.Unlock()
	if len(f.opened) >= maxCompanions {
		return nil, errTooMany
	}
	f.budget.Hold(companionWeight)
	data, stat, unmap, err := f.find(path)
	if err != nil {
		return nil, err
	}
	f.budget.Grow(len(data))
	c, err := newPart(data, split, f.budget)
	if err == nil && (c.big != f.big || c.is64 != f.is64) {
		err = corrupted("the byte order or the class is another one")
	}
	if err != nil {
		unmap()
		return nil, err
	}
	c.stat, c.unmap, c.zeroCode, c.starts, c.isSplit = stat, unmap, f.zeroCode, f.starts, split
	if f.asLLVM {
		c.likeLLVM()
	}
	c.path = path
	f.opened = append(f.opened, c)
	f.near.Store(int32(len(f.opened)))
	return c, nil
}

// discard closes a companion that turned out to be the wrong file.
func (f *File) discard(c *File) {
	f.filesMu.Lock()
	defer f.filesMu.Unlock()
	for i, o := range f.opened {
		if o == c {
			f.opened = append(f.opened[:i], f.opened[i+1:]...)
			f.near.Store(int32(len(f.opened)))
			c.Close()
			return
		}
	}
}

// closeCompanions closes them with the file.
func (f *File) closeCompanions() {
	f.filesMu.Lock()
	defer f.filesMu.Unlock()
	for _, c := range f.opened {
		c.Close()
	}
	f.opened = nil
}

// homes are the directories that a path relative to the file may mean: that of the path by which it was opened, and that
// of the file which a symbolic link leads to.
func (f *File) homes() []string {
	dirs := []string{filepath.Dir(f.path)}
	if real, err := filepath.EvalSymlinks(f.path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}
