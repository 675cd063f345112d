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

// dependencies are the files that the debug information of a file refers to: packages and files of split units, and the supplementary
// file. They are opened lazily, and closed with the file. It implements dwarf.Opener.
type dependencies struct {
	of   *File
	dwp  string  // path of the package of split units; "" for the one next to the file
	mmap mapFile // nil if no dependencies are opened

	mu     sync.Mutex
	opened []*File
	count  atomic.Int32 // len(opened)
}

// mapFile maps the file at a path. It returns its bytes, its FileInfo, and a function that unmaps it.
type mapFile func(path string) ([]byte, fs.FileInfo, func() error, error)

const (
	// maxDependencies bounds the number of dependencies of one file.
	maxDependencies = 1 << 14
	// dependencyWeight is the memory of an open dependency, in bytes.
	dependencyWeight = fileWeight
	// maxCompared bounds the dependencies whose fingerprints are checked after each query: a package and a supplementary file are
	// opened early, and the others belong to single units.
	maxCompared = 16
)

var errTooMany = errors.New("too many files are named by the debug information")

// mapRegular maps a regular file. Hostile debug information may refer to any path, so other kinds of files are not even opened.
func mapRegular(path string) ([]byte, fs.FileInfo, func() error, error) {
	if stat, err := os.Stat(path); err != nil {
		return nil, nil, nil, err
	} else if !stat.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("not a regular file: %s", stat.Mode().Type())
	}
	return mapped.Open(path)
}

// allow allows dependencies of f, which mmap maps.
func (d *dependencies) allow(f *File, mmap mapFile) {
	d.of, d.mmap = f, mmap
	f.dwarf.Opener = d
}

// Open opens a dependency; it implements dwarf.Opener.
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

// set sets the open dependencies. mu is locked.
func (d *dependencies) set(opened []*File) {
	d.opened = opened
	d.count.Store(int32(len(opened)))
}

// Discard closes a dependency that is the wrong file; it implements dwarf.Opener.
func (d *dependencies) Discard(x *dwarf.Data) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.opened, func(f *File) bool { return f.dwarf == x }); i >= 0 {
		wrong := d.opened[i]
		d.set(slices.Delete(d.opened, i, i+1))
		wrong.Close()
	}
}

// close closes all dependencies.
func (d *dependencies) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.opened {
		f.Close()
	}
	d.opened = nil
}

// changed reports whether one of the files has changed on disk since it was opened.
func (d *dependencies) changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.opened, func(f *File) bool { return f.changed(f.path) })
}

// intact reports whether the first maxCompared dependencies were not overwritten since they were opened.
func (d *dependencies) intact() bool {
	if d.count.Load() == 0 {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !slices.ContainsFunc(d.opened[:min(len(d.opened), maxCompared)], func(f *File) bool { return !f.fingerprint.matches() })
}

// PackagePaths returns the possible paths of the package of the file's split units.
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

// SplitPaths returns the possible paths of the file of a split unit: name relative to the compilation directory dir, and in the directory
// of the file with the skeleton. A relative dir is relative to that directory, too, never to the working directory.
func (d *dependencies) SplitPaths(name, dir string) (paths []string) {
	literal := d.of.policy.literalPaths
	switch {
	case filepath.IsAbs(name):
		paths = append(paths, name)
	case filepath.IsAbs(dir), literal: // in llvm a relative directory is relative to the working directory
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

// SupplementPaths returns the possible paths of the supplementary file: path, relative to the file and to the root of its file system; and
// in the trees of debug files that contain it, as <root>/.dwz/… or by build ID.
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

// homes returns the directories to which a path in the file may be relative: that of the path by which it was opened, and that of the
// target if that is a symbolic link.
func (d *dependencies) homes() []string {
	dirs := []string{filepath.Dir(d.of.path)}
	if real, err := filepath.EvalSymlinks(d.of.path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// diskFile is the origin of the bytes of a file.
type diskFile struct {
	path        string
	stat        fs.FileInfo  // from when it was opened; nil for a file that is not on disk
	start       int64        // offset in the file at path
	data        []byte       // its bytes, in memory or mapped
	unmap       func() error // nil for a file that is not mapped
	read        atomic.Int64 // number of bytes read since its memory was released
	fingerprint fingerprint
}

// maxMapped is about the number of bytes of a mapped file that are read before its memory is released.
const maxMapped = 256 << 20

// consumed counts n bytes of the file that were read and are unlikely to be read again soon. It releases the memory of the mapping from
// time to time, and reports whether it did.
func (d *diskFile) consumed(n int) bool {
	if d.unmap == nil || d.read.Add(int64(n)) < maxMapped {
		return false
	}
	d.read.Store(0)
	mapped.Release(d.data)
	return true
}

// changed reports whether the file at path is another one, or has changed, since it was opened.
func (d *diskFile) changed(path string) bool { return d.stat != nil && diskcache.Changed(path, d.stat) }

// partReader reads the part of a file that begins at start.
type partReader struct {
	*os.File
	start int64
}

// ReadAt implements io.ReaderAt.
func (r partReader) ReadAt(b []byte, off int64) (int, error) { return r.File.ReadAt(b, r.start+off) }

// reopen opens the file a second time. It returns nil if that fails or the file has changed.
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

// fingerprint identifies the contents of a mapped file by some of its parts.
//
// A mapped file may be overwritten in place while queries are answered from it. Programs that do so truncate it, or begin with its first
// page. So after each query, the mapping must still contain the headers and the build ID of the file that was opened; this check needs
// no system call. module.stale detects other modifications on disk.
type fingerprint struct {
	parts [][]byte // in the mapping
	want  []string // their contents when the file was opened
}

// add adds a part.
func (m *fingerprint) add(part []byte) {
	m.parts, m.want = append(m.parts, part), append(m.want, string(part))
}

// elfHeader is the size of the larger ELF header, in bytes. Its fields include the offsets of the section and program header tables.
const elfHeader = 64

// matches reports whether the mapping still has the same parts.
func (m *fingerprint) matches() (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }() // a fault, because the file was truncated
	for i, part := range m.parts {
		if string(part) != m.want[i] {
			return false
		}
	}
	return true
}
