package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"qss-filter/symsrc"
)

// logFile is a log in the input directory.
type logFile struct {
	index int
	rel   string // slash-separated path relative to the input directory
	// path is the path of the file in tree. It differs from rel for absolute links.
	tree *tree
	path string
	size int64 // when the tree was walked
	read int64 // bytes that were read
	// written is when the file was last written, when the tree was walked.
	written time.Time
}

// tree is a directory of input files. If root is set, no symbolic link can lead out of it, even if directories are replaced meanwhile.
type tree struct {
	dir  string
	root *os.Root
}

// stat returns the FileInfo of a path. It follows symbolic links.
func (t *tree) stat(path string) (fs.FileInfo, error) {
	if t.root != nil {
		return t.root.Stat(path)
	}
	return os.Stat(filepath.Join(t.dir, path))
}

// open opens a file for reading. It does not block on a FIFO.
func (t *tree) open(path string) (*os.File, error) {
	if t.root != nil {
		return t.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return os.OpenFile(filepath.Join(t.dir, path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// regular opens a file for reading if it is a regular one: opening a device may have side effects.
func (t *tree) regular(path string) (*os.File, error) {
	info, err := t.stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := t.open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // it was replaced meanwhile
		file.Close()
		return nil, errNotRegular
	}
	return file, nil
}

// list returns the entries of a directory in the order of their names. If it fails, it returns those that were read as well.
func (t *tree) list(dir string) ([]fs.DirEntry, error) {
	d, err := t.open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// errNotRegular is the error of a file that is not a regular one.
var errNotRegular = fmt.Errorf("%w: not a regular file", errSkip)

// errOutside is the error of a symbolic link that leads out of the input directory.
var errOutside = &symsrc.AvoidableError{Option: "tree.Follow", Err: fmt.Errorf("%w: a link to what is not in the input directory", errSkip)}

// readable returns an error unless dir is a directory that can be listed.
func readable(dir string) error {
	info, err := os.Stat(dir) // before it is opened: it may be a FIFO
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err = d.ReadDir(1); err != nil && !errors.Is(err, fs.ErrClosed) && !errors.Is(err, io.EOF) {
		if cause, ok := errors.AsType[*fs.PathError](err); ok { // its text has "readdirent" and repeats the path
			err = cause.Err
		}
		return fmt.Errorf("read %s: %w", dir, err)
	}
	return nil
}

// maxPath bounds the length of a path in bytes (PATH_MAX): a hostile tree may be nested deeper than systems can open.
const maxPath = 4096

// walker collects the logs of a tree.
type walker struct {
	tree    *tree
	choice  *Options // Include and Exclude
	problem func(rel string, err error)
	logs    []logFile
	// follow is set if symbolic links are followed to directories, and out of the tree. links are then links to directories that
	// are still to be read, after all directories that are reached without a link. seen are the directories that were read, by
	// modification time in nanoseconds: each is read once.
	follow bool
	links  []string
	seen   map[int64][]fs.FileInfo
}

// walk returns the files below dir in the order of their paths. It follows symbolic links to files below dir, and with follow all
// links. It calls problem for each file and directory that cannot be read, and for each that is no log by its name, and continues. The
// caller must close the tree.
func walk(dir string, o *Options, problem func(rel string, err error)) ([]logFile, *tree, error) {
	t := &tree{dir: dir}
	if !o.Follow {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		t.root = root
	}
	w := &walker{tree: t, choice: o, problem: problem, follow: o.Follow, seen: map[int64][]fs.FileInfo{}}
	w.links = []string{""}
	for len(w.links) > 0 { // directory appends the links that it finds
		link := w.links[0]
		w.links = w.links[1:]
		if err := w.directory(link); err != nil && link == "" {
			t.close()
			return nil, nil, fmt.Errorf("walk %s: %w", dir, err)
		}
	}
	slices.SortFunc(w.logs, func(a, b logFile) int { return strings.Compare(a.rel, b.rel) })
	for i := range w.logs {
		w.logs[i].index = i
	}
	return w.logs, t, nil
}

func (t *tree) close() {
	if t.root != nil {
		t.root.Close()
	}
}

// directory collects the logs below a directory. problem has been called with the error that it returns, except for the top of the
// tree.
func (w *walker) directory(rel string) error {
	path := cmp.Or(filepath.FromSlash(rel), ".")
	if len(rel) > maxPath-len(w.tree.dir) {
		w.problem(rel[:min(len(rel), 64)]+"...", syscall.ENAMETOOLONG)
		return syscall.ENAMETOOLONG
	}
	if w.visited(path) {
		return nil
	}
	entries, err := w.tree.list(path)
	if err != nil && rel != "" {
		w.problem(rel, err)
	}
	for _, e := range entries {
		name := e.Name()
		if rel != "" {
			name = rel + "/" + name
		}
		switch {
		case w.choice.excluded(name):
		case e.IsDir():
			_ = w.directory(name) // problem has been called
		default:
			w.file(name, e.Type()&fs.ModeSymlink != 0)
		}
	}
	return err
}

// visited reports whether a directory was read before under another path, and notes it if not. Without follow that cannot happen.
func (w *walker) visited(path string) bool {
	if !w.follow {
		return false
	}
	info, err := w.tree.stat(path)
	if err != nil {
		return false // listing it returns the error
	}
	key := info.ModTime().UnixNano()
	if slices.ContainsFunc(w.seen[key], func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		return true
	}
	w.seen[key] = append(w.seen[key], info)
	return false
}

// file adds a file, or the target of a symbolic link.
func (w *walker) file(rel string, link bool) {
	path := filepath.FromSlash(rel)
	info, err := w.tree.stat(path)
	if err != nil && link && !w.follow {
		path, info, err = w.resolveLink(path)
	}
	switch {
	case err != nil:
		w.problem(rel, err)
	case link && info.IsDir():
		if w.follow {
			w.links = append(w.links, rel)
		}
	case !w.choice.included(rel):
	case len(w.choice.Include) == 0 && isSource(rel):
		w.problem(rel, errSource)
	default:
		w.logs = append(w.logs, logFile{rel: rel, tree: w.tree, path: path, size: info.Size(), written: info.ModTime()})
	}
}

// resolveLink returns the path in the tree of the target of a symbolic link that os.Root refuses, such as an absolute one.
func (w *walker) resolveLink(link string) (path string, info fs.FileInfo, err error) {
	top, err := filepath.EvalSymlinks(w.tree.dir)
	if err != nil {
		return "", nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(w.tree.dir, link))
	if err != nil {
		return "", nil, err
	}
	top, topErr := filepath.Abs(top)
	real, realErr := filepath.Abs(real)
	if topErr != nil || realErr != nil {
		return "", nil, errOutside
	}
	if path, err = filepath.Rel(top, real); err != nil || !filepath.IsLocal(path) {
		return "", nil, errOutside
	}
	info, err = w.tree.stat(path)
	return path, info, err
}

// relative returns path relative to dir, with slashes.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// checkOverlap returns an error if an output would be written into the input directory.
func (o *Options) checkOverlap() error {
	type output struct{ field, dir string }
	outputs := []output{{"Output", o.Output}, {"Report", o.Report}}
	for _, file := range []output{{"HTML", o.HTML}, {"SummaryJSON", o.SummaryJSON}} {
		if file.dir != "" && file.dir != "-" {
			outputs = append(outputs, output{file.field, filepath.Dir(file.dir)})
		}
	}
	for _, out := range outputs {
		if inside(out.dir, o.Input) {
			return optionError(out.field, out.dir, fmt.Errorf("is %s or lies inside it, where the logs are read from", o.Input))
		}
	}
	// If Input is below Output, the outputs of a directory of Input may be in Input.
	if inside(o.Input, o.Output) {
		rel := relative(resolved(o.Output), resolved(o.Input))
		if _, err := os.Lstat(filepath.Join(o.Input, filepath.FromSlash(rel))); err == nil {
			return optionError("Output", o.Output, fmt.Errorf("the outputs of %s would lie inside %s", filepath.Join(o.Input, rel), o.Input))
		}
	}
	return nil
}

// inside reports whether path is dir or lies inside it, with symbolic links resolved. path need not exist.
func inside(path, dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := resolved(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// resolved returns path as an absolute path, with symbolic links resolved in the part that exists.
func resolved(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
