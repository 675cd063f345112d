package locate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Bounds on the files that say where others lie.
const (
	maxIDFile   = 256 << 20 // bytes of all of them
	maxIDFiles  = 1 << 10   // of them, those named by others included
	maxPatterns = 1 << 12   // files that one pattern stands for
)

// idMap is what ids.txt and symbol-index files say.
type idMap struct {
	files map[symsrc.BuildID][]idLine
	dirs  []string // build-ID trees
	read  map[string]bool
	bytes int64 // of all that was read
	tell  func(string)
}

// idLine is a line of ids.txt: the path as it stands there, and the directories that a relative one counts from.
type idLine struct {
	name string
	dirs []string
}

// paths returns where the files of a build ID may lie.
func (x *idMap) paths(id symsrc.BuildID) (paths []string) {
	for _, l := range x.files[id] {
		file := filepath.FromSlash(l.name)
		if filepath.IsAbs(file) {
			paths = append(paths, file)
			continue
		}
		for _, dir := range l.dirs {
			paths = append(paths, filepath.Join(dir, file))
		}
		if len(paths) > maxSame {
			break
		}
	}
	return paths
}

// mapped looks at the files that ids.txt and symbol-index files name for the build ID.
func (s *search) mapped() {
	l := s.l
	if len(l.opt.IDsTxt) == 0 || s.complete() {
		return
	}
	l.mapOnce.Do(func() {
		l.idMap = idMap{files: make(map[symsrc.BuildID][]idLine), read: make(map[string]bool), tell: l.opt.OnProblem}
		for _, path := range l.opt.IDsTxt {
			l.idMap.load(path)
		}
	})
	list := l.idMap.paths(s.want)
	for _, path := range list[:min(len(list), maxSame)] {
		s.runtime(place{path: path}, asDebug)
	}
	for _, dir := range l.idMap.dirs {
		s.buildIDDir(dir)
	}
	if len(list) == 0 {
		for _, path := range l.opt.IDsTxt {
			s.verdict.try(path+": no line of this build ID", nil)
		}
	}
	s.links()
}

// load reads one file of either kind; what cannot be read is told.
func (x *idMap) load(path string) {
	abs, err := filepath.Abs(path)
	if err != nil || x.read[abs] || len(x.read) >= maxIDFiles {
		return
	}
	x.read[abs] = true
	b, err := x.readWhole(abs)
	switch {
	case err != nil:
		x.tell(fmt.Sprintf("read %s: %v", path, cause(err)))
	case bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")):
		if err := x.symbolIndex(b, filepath.Dir(abs)); err != nil {
			x.tell(fmt.Sprintf("read %s: %v", path, err))
		}
	default:
		x.lines(b, abs)
	}
}

// readWhole reads a regular file. All together are bounded in size.
func (x *idMap) readWhole(path string) ([]byte, error) {
	f, err := openRegular(path, true)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if f.size > maxIDFile-x.bytes {
		return nil, fmt.Errorf("it and those before have more than %d MiB", maxIDFile>>20)
	}
	x.bytes += f.size
	return io.ReadAll(io.NewSectionReader(f, 0, f.size))
}

// lines reads ids.txt: a build ID, a space, and a path that is absolute or relative to the file's own directory, followed
// through links. A symbol-index file of the older form has lines of an absolute path, and behind a tab a directory of
// sources: a build-ID tree, or another ids.txt.
func (x *idMap) lines(b []byte, path string) {
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = []string{filepath.Dir(real), dirs[0]}
	}
	for line := range strings.Lines(string(b)) { // the names are parts of that one text
		line = strings.TrimSpace(line)
		if len(line) > 0 && filepath.IsAbs(line) {
			name, _, _ := strings.Cut(line, "\t")
			x.source(name)
			continue
		}
		digits, name, ok := strings.Cut(line, " ")
		id, isID := symsrc.ParseBuildID([]byte(digits))
		name = strings.TrimSpace(name)
		if !ok || !isID || len(name) == 0 || len(name) > maxPath || strings.IndexByte(name, 0) >= 0 || len(x.files[id]) >= maxSame {
			continue
		}
		x.files[id] = append(x.files[id], idLine{name, dirs})
	}
}

// source takes in a directory or file that a symbol-index file names. That it is not there is common.
func (x *idMap) source(path string) {
	if readableDir(path) == nil {
		x.dirs = append(x.dirs, path)
	} else if _, err := stampAt(path, true); err == nil {
		x.load(path)
	}
}

// symbolIndex reads symbol-index.json, whose paths are relative to its directory and may be patterns.
func (x *idMap) symbolIndex(b []byte, dir string) error {
	type item struct {
		Path string `json:"path"`
	}
	var v struct {
		Includes []string `json:"includes"`
		Dirs     []item   `json:"build_id_dirs"`
		Texts    []item   `json:"ids_txts"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	for _, it := range append(v.Dirs, v.Texts...) {
		v.Includes = append(v.Includes, it.Path)
	}
	for _, pattern := range v.Includes {
		if pattern == "" {
			continue
		}
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(dir, pattern)
		}
		list, _ := filepath.Glob(pattern)
		for _, path := range list[:min(len(list), maxPatterns)] {
			x.source(path)
		}
	}
	return nil
}
