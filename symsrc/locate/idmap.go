package locate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Bounds on the files that list others.
const (
	maxIDFile   = 256 << 20 // bytes of all of them together
	maxIDFiles  = 1 << 10   // their number, including those named by others
	maxPatterns = 1 << 12   // files that one pattern matches
	maxIDLine   = 16 << 10  // bytes of a line that has a build ID and a path
	maxAlike    = 1 << 12   // lines that are read for one build ID
)

// idMap is the content of ids.txt and symbol-index files. Such files have millions of lines, and a log needs few of them: only the
// offsets of lines are kept, and the lines are read again when they are needed.
type idMap struct {
	lines []idLine // sorted by build ID, those of one build ID in their order
	texts []idText
	dirs  []string // build-ID trees
	read  map[string]bool
	bytes int64 // read so far
	tell  func(string)
}

// idLine is a line of ids.txt: the beginning of its build ID, and its offset in all that was read.
type idLine struct {
	id uint64
	at uint32
}

// idText is an ids.txt: its offset in all that was read, and the directories of its relative paths.
type idText struct {
	path string
	at   int64
	dirs []string
}

// beginning returns the beginning of a build ID as a number that sorts like the build ID.
func beginning(id symsrc.BuildID) uint64 {
	var b [8]byte
	copy(b[:], id)
	return binary.BigEndian.Uint64(b[:])
}

// paths returns where the files of a build ID may be.
func (x *idMap) paths(id symsrc.BuildID) (paths []string) {
	key := beginning(id)
	from, found := slices.BinarySearchFunc(x.lines, key, func(l idLine, key uint64) int { return cmp.Compare(l.id, key) })
	if !found {
		return nil
	}
	var text *idText // the open one
	var file *regularFile
	line := make([]byte, maxIDLine)
	for _, l := range x.lines[from:min(len(x.lines), from+maxAlike)] {
		if l.id != key || len(paths) > maxSame {
			break
		}
		if of := x.textOf(l); of != text {
			if file != nil {
				file.close()
			}
			text = of
			file, _ = openRegular(text.path, true)
		}
		if file == nil { // removed
			continue
		}
		n, _ := file.ReadAt(line, int64(l.at)-text.at)
		one, _, _ := bytes.Cut(line[:n], []byte("\n"))
		if has, name, ok := readIDLine(one); ok && has == id {
			paths = append(paths, text.named(string(name))...)
		}
	}
	if file != nil {
		file.close()
	}
	return paths
}

// textOf returns the text that has a line.
func (x *idMap) textOf(l idLine) *idText {
	i, ok := slices.BinarySearchFunc(x.texts, int64(l.at), func(t idText, at int64) int { return cmp.Compare(t.at, at) })
	if !ok {
		i--
	}
	return &x.texts[i]
}

// named returns the paths that a name in a text may stand for.
func (t *idText) named(name string) (paths []string) {
	file := filepath.FromSlash(name)
	if filepath.IsAbs(file) {
		return []string{file}
	}
	for _, dir := range t.dirs {
		paths = append(paths, filepath.Join(dir, file))
	}
	return paths
}

// mapped tries the files that ids.txt and symbol-index files name for the build ID.
func (s *search) mapped() {
	l := s.l
	if len(l.opt.IDsTxt) == 0 || s.complete() {
		return
	}
	l.loadLists()
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

// loadLists reads the files of Options.IDsTxt, once.
func (l *Locator) loadLists() {
	l.mapOnce.Do(func() {
		l.idMap = idMap{read: make(map[string]bool), tell: l.opt.OnProblem}
		for _, path := range l.opt.IDsTxt {
			l.idMap.load(path)
		}
		l.idMap.sort()
	})
}

// load reads one file of either kind, and reports a file that cannot be read.
func (x *idMap) load(path string) {
	abs, err := filepath.Abs(path)
	if err != nil || x.read[abs] || len(x.read) >= maxIDFiles {
		return
	}
	x.read[abs] = true
	if err := x.readFile(abs); err != nil {
		x.tell(fmt.Sprintf("read %s: %v", path, cause(err)))
	}
}

// readFile reads a regular file. All together are bounded in size.
func (x *idMap) readFile(path string) error {
	f, err := openRegular(path, true)
	if err != nil {
		return err
	}
	defer f.close()
	if f.Size > maxIDFile-x.bytes {
		return fmt.Errorf("it and those before have more than %d MiB", maxIDFile>>20)
	}
	at := x.bytes
	x.bytes += f.Size + 1 // so that no two begin at the same offset
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), 4*maxIDLine)
	head, err := in.Peek(maxIDLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		return x.readLines(in, path, at)
	}
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return x.symbolIndex(b, filepath.Dir(path))
}

// readLines reads ids.txt, which begins at at: a build ID, a space, and a path that is absolute or relative to the file's own
// directory, with links resolved. A symbol-index file of the older format has lines with an absolute path of a build-ID tree or of
// another ids.txt, and after a tab a directory of sources.
func (x *idMap) readLines(in *bufio.Reader, path string, at int64) error {
	text := idText{path: path, at: at, dirs: []string{filepath.Dir(path)}}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != text.dirs[0] {
		text.dirs = []string{filepath.Dir(real), text.dirs[0]}
	}
	x.texts = append(x.texts, text)
	whole := true // the previous line has ended
	for {
		line, err := in.ReadSlice('\n')
		began := whole
		whole = !errors.Is(err, bufio.ErrBufferFull)
		if began && whole && len(line) <= maxIDLine {
			if id, _, ok := readIDLine(line); ok {
				x.lines = append(x.lines, idLine{beginning(id), uint32(at)})
			} else if text := string(bytes.TrimSpace(line)); filepath.IsAbs(text) {
				name, _, _ := strings.Cut(text, "\t")
				x.source(name)
			}
		}
		at += int64(len(line))
		if err != nil && whole {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// sort sorts the lines. Most files are sorted already.
func (x *idMap) sort() {
	slices.SortFunc(x.lines, func(a, b idLine) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) })
}

// readIDLine reads a line of a build ID and a path.
func readIDLine(line []byte) (id symsrc.BuildID, name []byte, ok bool) {
	line = bytes.TrimSpace(line)
	digits, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return "", nil, false
	}
	rest = bytes.TrimSpace(rest)
	if len(rest) == 0 || len(rest) > maxPath || bytes.IndexByte(rest, 0) >= 0 {
		return "", nil, false
	}
	id, ok = symsrc.ParseBuildID(digits)
	return id, rest, ok
}

// source adds a directory or file that a symbol-index file names. It is often missing.
func (x *idMap) source(path string) {
	if readableDir(path) == nil {
		x.dirs = append(x.dirs, path)
	} else if _, err := diskcache.StampAt(path, true); err == nil {
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
