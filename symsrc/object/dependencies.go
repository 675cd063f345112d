package object

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/mapped"
)

// dependencies are the files that the debug information of a file names: packages and files of split units, and the supplementary file.
// They are opened when they are first needed, and closed with the file. They implement dwarf.Opener.
type dependencies struct {
	of   *File
	dwp  string  // the package of the file's split units; "" for one beside the file
	mmap mapFile // nil where there are none

	mu     sync.Mutex
	opened []*File
	count  atomic.Int32 // of opened
}

// mapFile returns the bytes of the file at a path, what is known of it, and a function that closes it.
type mapFile func(path string) ([]byte, fs.FileInfo, func() error, error)

const (
	// maxDependencies bounds how many files the debug information of one file may have opened.
	maxDependencies = 1 << 14
	// dependencyWeight is what a dependency takes at least, with its path, in bytes.
	dependencyWeight = fileWeight
	// maxCompared bounds the dependencies that are compared after each question: a package, a supplementary file. More are the files
	// of single units.
	maxCompared = 16
)

var errTooMany = errors.New("too many files are named by the debug information")

// mapRegular maps a file that debug information names. A hostile one may name any path: what is not a regular file is not even opened.
func mapRegular(path string) ([]byte, fs.FileInfo, func() error, error) {
	if stat, err := os.Stat(path); err != nil {
		return nil, nil, nil, err
	} else if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	return mapped.Open(path)
}

// allow lets the debug information of f name other files, which mmap maps.
func (d *dependencies) allow(f *File, mmap mapFile) {
	d.of, d.mmap = f, mmap
	f.dwarf.Opener = d
}

// Open opens a file that the debug information names.
func (d *dependencies) Open(path string, split bool) (*dwarf.Data, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.opened) >= maxDependencies {
		return nil, errTooMany
	}
	f, limits := d.of, d.of.elf.Budget
	limits.Hold(dependencyWeight)
	data, stat, unmap, err := d.mmap(path)
	if err != nil {
		return nil, err
	}
	limits.Grow(len(data))
	x, err := newFileOf(data, split, limits, f.policy)
	if err == nil && (x.elf.Big != f.elf.Big || x.elf.Is64 != f.elf.Is64) {
		err = elf.Corrupted("the byte order or the class is another one")
	}
	if err != nil {
		unmap()
		return nil, err
	}
	x.stat, x.unmap, x.path = stat, unmap, path
	x.dwarf.InheritAddressing(f.dwarf)
	d.set(append(d.opened, x))
	return x.dwarf, nil
}

// set sets what is open. mu is locked.
func (d *dependencies) set(opened []*File) {
	d.opened = opened
	d.count.Store(int32(len(opened)))
}

// Discard closes a dependency that turned out to be the wrong file.
func (d *dependencies) Discard(x *dwarf.Data) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.opened, func(f *File) bool { return f.dwarf == x }); i >= 0 {
		wrong := d.opened[i]
		d.set(slices.Delete(d.opened, i, i+1))
		wrong.Close()
	}
}

// close closes all of them.
func (d *dependencies) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.opened {
		f.Close()
	}
	d.opened = nil
}

// changed reports whether one of the files on disk is another one by now.
func (d *dependencies) changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.opened, func(f *File) bool { return f.changed(f.path) })
}

// intact reports whether the first of them are still the files that were opened.
func (d *dependencies) intact() bool {
	if d.count.Load() == 0 {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !slices.ContainsFunc(d.opened[:min(len(d.opened), maxCompared)], func(f *File) bool { return !f.fingerprint.matches() })
}

// PackagePaths returns where the package of the file's split units may be.
func (d *dependencies) PackagePaths() (paths []string) {
	f := d.of
	if d.dwp != "" {
		return []string{d.dwp}
	}
	for _, of := range [...]*File{f, f.other} {
		if of != nil && of.path != "" {
			paths = append(paths, of.path+".dwp")
		}
	}
	return paths
}

// SplitPaths returns where the file of a skeleton's unit may be: at its name, seen from the compilation directory, and beside the file
// with the skeleton. A relative compilation directory means one beside that file too, never the one that the process runs in.
func (d *dependencies) SplitPaths(name, dir string) (paths []string) {
	literal := d.of.policy.literalPaths
	switch {
	case filepath.IsAbs(name):
		paths = append(paths, name)
	case filepath.IsAbs(dir), literal: // llvm takes a relative directory as seen from the one that it runs in
		paths = append(paths, filepath.Join(dir, name))
	}
	if literal {
		return paths
	}
	for _, home := range d.homes() {
		if !filepath.IsAbs(name) {
			if !filepath.IsAbs(dir) {
				paths = append(paths, filepath.Join(home, dir, name))
			}
			paths = append(paths, filepath.Join(home, name))
		}
		paths = append(paths, filepath.Join(home, filepath.Base(name)))
	}
	return paths
}

// SupplementPaths returns the paths where the supplementary file may be: where the link says, seen from the file and from
// the root file system that it is in; and in the trees of debug files around it, as <root>/.dwz/… or by build ID.
func (d *dependencies) SupplementPaths(path string, sum []byte) (paths []string) {
	if d.of.policy.literalPaths {
		return nil
	}
	if filepath.IsAbs(path) {
		paths = append(paths, path)
	}
	inTree := ".dwz/" + filepath.Base(path)
	if _, below, ok := strings.Cut(path, "/.dwz/"); ok && filepath.IsLocal(below) {
		inTree = ".dwz/" + below
	}
	id := hex.EncodeToString(sum)
	for _, home := range d.homes() {
		if !filepath.IsAbs(path) {
			paths = append(paths, filepath.Join(home, path))
		}
		const debugRoot = "/usr/lib/debug"
		home += "/"
		for _, mark := range [...]string{debugRoot + "/", "/.build-id/", "/.debug/"} {
			i := strings.Index(home, mark)
			if i < 0 {
				continue
			}
			root := home[:i]
			if mark == debugRoot+"/" {
				if filepath.IsAbs(path) {
					paths = append(paths, filepath.Join(root, filepath.Clean(path)))
				}
				root += debugRoot
			}
			paths = append(paths, filepath.Join(root, inTree))
			if len(id) > 2 {
				paths = append(paths, filepath.Join(root, ".build-id", id[:2], id[2:]+".debug"))
			}
		}
	}
	return paths
}

// homes returns the directories that a path relative to the file may mean: that of the path by which it was opened, and that
// of the file which a symbolic link leads to.
func (d *dependencies) homes() []string {
	dirs := []string{filepath.Dir(d.of.path)}
	if real, err := filepath.EvalSymlinks(d.of.path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// diskFile is where the bytes of a file are from.
type diskFile struct {
	path        string
	stat        fs.FileInfo  // when it was opened; nil for a file that is not on disk
	start       int64        // where in the file at path it begins
	data        []byte       // its bytes, in memory or mapped
	unmap       func() error // nil for a file that is not mapped
	read        atomic.Int64 // bytes that were read since memory was last released
	fingerprint fingerprint
}

// maxMapped is about how many bytes of a mapped file may be read before its memory is released.
const maxMapped = 256 << 20

// consumed notes that n bytes of the file were read that are not likely to be read again soon. It reports whether memory was released.
func (d *diskFile) consumed(n int) bool {
	if d.unmap == nil || d.read.Add(int64(n)) < maxMapped {
		return false
	}
	d.read.Store(0)
	mapped.Release(d.data)
	return true
}

// changed reports whether another file is at the path by now.
func (d *diskFile) changed(path string) bool { return d.stat != nil && diskcache.Changed(path, d.stat) }

// partReader reads a file from a position on.
type partReader struct {
	*os.File
	start int64
}

func (r partReader) ReadAt(b []byte, off int64) (int, error) { return r.File.ReadAt(b, r.start+off) }

// reopen opens the file a second time; nil where that fails or another one has taken its place.
func (d *diskFile) reopen() dwarf.ReadAtCloser {
	if d.stat == nil || d.path == "" {
		return nil
	}
	in, err := os.Open(d.path)
	if err != nil {
		return nil
	}
	if stat, err := in.Stat(); err != nil || diskcache.StampOf(d.path, stat) != diskcache.StampOf(d.path, d.stat) {
		in.Close()
		return nil
	}
	return partReader{in, d.start}
}

// fingerprint are the parts of a file that differ from those of other files, in the mapping, and what they were.
//
// A mapped file may be overwritten in place while questions are answered from it. That replaces its first page first, or cuts the file off
// before. So after each question the mapping must still have the headers and the build ID of the file that was opened, which costs no
// system call; edits that leave these as they are, module.stale notices on the disk.
type fingerprint struct {
	parts [][]byte
	want  []string
}

// add notes another part.
func (m *fingerprint) add(part []byte) {
	m.parts, m.want = append(m.parts, part), append(m.want, string(part))
}

// elfHeader is the size of the larger ELF header; its fields say where the tables of sections and segments are.
const elfHeader = 64

// matches reports whether the mapping still has these parts.
func (m *fingerprint) matches() (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }() // the file is shorter
	for i, part := range m.parts {
		if string(part) != m.want[i] {
			return false
		}
	}
	return true
}
