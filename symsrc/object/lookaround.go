package object

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/dwarf"
)

// lookAround finds the files that the debug information of a file names.
type lookAround struct{ f *File }

// Open opens one of them.
func (l *lookAround) Open(path string, split bool) (*dwarf.Data, error) {
	c, err := l.f.companion(path, split)
	if err != nil {
		return nil, err
	}
	return c.dwarf, nil
}

// Discard closes one that turned out to be the wrong file.
func (l *lookAround) Discard(d *dwarf.Data) { l.f.discard(d) }

// PackagePaths returns where the package of the file's split units may be.
func (l *lookAround) PackagePaths() (paths []string) {
	f := l.f
	if f.dwp != "" {
		return []string{f.dwp}
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
func (l *lookAround) SplitPaths(name, dir string) (paths []string) {
	literal := l.f.by.literalPaths
	switch {
	case filepath.IsAbs(name):
		paths = append(paths, name)
	case filepath.IsAbs(dir), literal: // llvm takes a relative directory as seen from the one that it runs in
		paths = append(paths, filepath.Join(dir, name))
	}
	if literal {
		return paths
	}
	for _, home := range l.homes() {
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

// SupplementPaths returns the paths where the supplementary file of f may lie: where the link says, seen from the file and from
// the root file system that it lies in; and in the trees of debug files around it, as <root>/.dwz/… or by build ID.
func (l *lookAround) SupplementPaths(path string, sum []byte) (paths []string) {
	if l.f.by.literalPaths {
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
	for _, home := range l.homes() {
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

// homes are the directories that a path relative to the file may mean: that of the path by which it was opened, and that
// of the file which a symbolic link leads to.
func (l *lookAround) homes() []string {
	dirs := []string{filepath.Dir(l.f.path)}
	if real, err := filepath.EvalSymlinks(l.f.path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// partReader reads a file from a position on.
type partReader struct {
	*os.File
	at int64
}

func (r partReader) ReadAt(b []byte, off int64) (int, error) { return r.File.ReadAt(b, r.at+off) }

// again opens the file a second time; nil where that fails or another one has taken its place.
func (f *File) again() dwarf.ReadAtCloser {
	if f.stat == nil || f.path == "" {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	if stat, err := in.Stat(); err != nil || diskcache.StampOf(f.path, stat) != diskcache.StampOf(f.path, f.stat) {
		in.Close()
		return nil
	}
	return partReader{in, f.at}
}
