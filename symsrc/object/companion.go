package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/mapped"
)

// maxCompanions bounds how many files the debug information of one file may have opened.
const maxCompanions = 1 << 14

// companionWeight is what a companion takes at least, with its path, in bytes.
const companionWeight = fileWeight

// companions are the files beside a file that its debug information names: opened when they are first needed, closed
// with it.
type companions struct {
	dwp  string // of the package of the file's split units; "" for one beside the file
	find opener // nil where there are none

	mu     sync.Mutex
	opened []*File
	near   atomic.Int32 // how many are
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
	f.companions.mu.Lock()
	defer f.companions.mu.Unlock()
	if len(f.opened) >= maxCompanions {
		return nil, errTooMany
	}
	f.elf.Budget.Hold(companionWeight)
	data, stat, unmap, err := f.find(path)
	if err != nil {
		return nil, err
	}
	f.elf.Budget.Grow(len(data))
	c, err := newPart(data, split, f.elf.Budget, f.by)
	if err == nil && (c.elf.Big != f.elf.Big || c.elf.Is64 != f.elf.Is64) {
		err = elf.Corrupted("the byte order or the class is another one")
	}
	if err != nil {
		unmap()
		return nil, err
	}
	c.stat, c.unmap, c.path = stat, unmap, path
	c.dwarf.Follow(f.dwarf)
	f.opened = append(f.opened, c)
	f.near.Store(int32(len(f.opened)))
	return c, nil
}

// mayOpen makes the debug information find other files.
func (f *File) mayOpen(find opener) {
	f.find = find
	f.dwarf.Opener = &lookAround{f}
}

// discard closes a companion that turned out to be the wrong file.
func (f *File) discard(c *dwarf.Data) {
	f.companions.mu.Lock()
	defer f.companions.mu.Unlock()
	for i, o := range f.opened {
		if o.dwarf == c {
			f.opened = append(f.opened[:i], f.opened[i+1:]...)
			f.near.Store(int32(len(f.opened)))
			o.Close()
			return
		}
	}
}

// closeCompanions closes them with the file.
func (f *File) closeCompanions() {
	f.companions.mu.Lock()
	defer f.companions.mu.Unlock()
	for _, c := range f.opened {
		c.Close()
	}
	f.opened = nil
}
