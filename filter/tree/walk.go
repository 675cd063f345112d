package tree

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// logFile is a file of the input tree.
type logFile struct {
	index int
	rel   string // with slashes, from the input directory on
	// path is where it is opened in tree.
	tree *tree
	path string
	size int64
}

// tree is a directory whose files are read. With a root no link leads out of it, however quickly directories change places.
type tree struct {
	dir  string
	root *os.Root
}

// stat describes what a path is of, with links followed.
func (t *tree) stat(path string) (fs.FileInfo, error) {
	if t.root != nil {
		return t.root.Stat(path)
	}
	return os.Stat(filepath.Join(t.dir, path))
}

// open opens a file for reading; the opening of a FIFO does not wait.
func (t *tree) open(path string) (*os.File, error) {
	if t.root != nil {
		return t.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return os.OpenFile(filepath.Join(t.dir, path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// regular opens a regular file only: the opening of a device may act on it.
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
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // another has taken its place
		file.Close()
		return nil, errNotRegular
	}
	return file, nil
}

// list returns the entries of a directory in the order of their names, as far as it can be read.
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

// errNotRegular is a file that is none of bytes.
var errNotRegular = fmt.Errorf("%w: not a regular file", errSkip)

// errOutside is a link that leads out of the input directory.
var errOutside = &symsrc.AvoidableError{Option: "tree.Follow", Err: fmt.Errorf("%w: a link to what is not in the input directory", errSkip)}

// readable fails unless dir is a directory that can be listed.
func readable(dir string) error {
	info, err := os.Stat(dir) // before it is opened, for it may be a FIFO
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
		if cause, ok := errors.AsType[*fs.PathError](err); ok { // "readdirent", and the path again
			err = cause.Err
		}
		return fmt.Errorf("read %s: %w", dir, err)
	}
	return nil
}

// maxPath bounds a path of a tree in bytes (PATH_MAX): a hostile tree may be deeper than any system reads it.
const maxPath = 4096

// walker lists the logs of a tree.
type walker struct {
	tree    *tree
	problem func(rel string, err error)
	logs    []logFile
	// follow is set where links are followed wherever they lead; links are then those to directories, which wait until the
	// directories that have names of their own are read, and seen is what was read, each once.
	follow bool
	links  []string
	seen   map[int64][]fs.FileInfo // by their times, which tell most apart
}

// walk lists the files below dir, and those that links point to, in the order of their paths. Links are followed where they stay below
// dir, to files only; with follow wherever they lead, and to directories. problem is called for what cannot be read; the rest goes
// on. The tree must be closed.
func walk(dir string, follow bool, problem func(rel string, err error)) ([]logFile, *tree, error) {
	t := &tree{dir: dir}
	if !follow {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		t.root = root
	}
	w := &walker{tree: t, problem: problem, follow: follow, seen: map[int64][]fs.FileInfo{}}
	w.links = []string{""}
	for len(w.links) > 0 { // those in them are added after
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

// directory lists what is below a directory. Its error is what problem was called with, but for the top of the tree.
func (w *walker) directory(rel string) error {
	path := cmp.Or(filepath.FromSlash(rel), ".")
	if len(rel) > maxPath-len(w.tree.dir) {
		w.problem(rel[:min(len(rel), 64)]+"...", syscall.ENAMETOOLONG)
		return syscall.ENAMETOOLONG
	}
	if w.again(path) {
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
		if e.IsDir() {
			_ = w.directory(name) // which has called problem
		} else {
			w.file(name, e.Type()&fs.ModeSymlink != 0)
		}
	}
	return err
}

// again reports whether a directory was read before, by whatever name, where links may lead to it.
func (w *walker) again(path string) bool {
	if !w.follow {
		return false
	}
	info, err := w.tree.stat(path)
	if err != nil {
		return false // its listing says why
	}
	key := info.ModTime().UnixNano()
	if slices.ContainsFunc(w.seen[key], func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		return true
	}
	w.seen[key] = append(w.seen[key], info)
	return false
}

// file takes in a file, or what a link points to.
func (w *walker) file(rel string, link bool) {
	path := filepath.FromSlash(rel)
	info, err := w.tree.stat(path)
	if err != nil && link && !w.follow {
		path, info, err = w.inside(path)
	}
	switch {
	case err != nil:
		w.problem(rel, err)
	case link && info.IsDir():
		if w.follow {
			w.links = append(w.links, rel)
		}
	default:
		w.logs = append(w.logs, logFile{rel: rel, tree: w.tree, path: path, size: info.Size()})
	}
}

// inside looks at a link that a root refuses: an absolute one may lead into the tree nevertheless. It returns the path there.
func (w *walker) inside(link string) (path string, info fs.FileInfo, err error) {
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

// relative is path as from dir on, with slashes.
func relative(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

// apart fails where what is written would lie among what is read.
func (o *Options) apart() error {
	type output struct{ field, dir string }
	outputs := []output{{"Output", o.Output}, {"Report", o.Report}}
	for _, file := range []output{{"HTML", o.HTML}, {"SummaryJSON", o.SummaryJSON}} {
		if file.dir != "" && file.dir != "-" {
			outputs = append(outputs, output{file.field, filepath.Dir(file.dir)})
		}
	}
	for _, out := range outputs {
		if inside(out.dir, o.Input) {
			return wrong(out.field, out.dir, fmt.Errorf("is %s or lies inside it, where the logs are read from", o.Input))
		}
	}
	// The tree of outputs may reach the input from above.
	if inside(o.Input, o.Output) {
		rel := relative(resolved(o.Output), resolved(o.Input))
		if _, err := os.Lstat(filepath.Join(o.Input, filepath.FromSlash(rel))); err == nil {
			return wrong("Output", o.Output, fmt.Errorf("what %s becomes would lie inside %s", filepath.Join(o.Input, rel), o.Input))
		}
	}
	return nil
}

// inside reports whether path is dir or lies inside it, by whatever names. path need not be there.
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

// resolved is the absolute path without links, as far as it is there.
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

// Listed is a module in the JSON that Options.ListModules prints.
type Listed struct {
	Path         string   `json:"path"`
	LogBuildID   string   `json:"log_build_id"`
	Found        string   `json:"found,omitempty"`
	FoundBuildID string   `json:"found_build_id,omitempty"`
	Effective    string   `json:"effective_build_id"`
	Mismatch     bool     `json:"mismatch"`
	Status       string   `json:"status,omitempty"`
	Tags         []string `json:"tags"`
}

// listModules reads all logs for their modules only.
func (r *run) listModules(ctx context.Context) error {
	r.report = &Report{groups: newGroups(), modules: map[string]*module{}}
	r.each(ctx, func(ctx context.Context, log *logFile) error {
		in, err := open(ctx, log, r.bar.bytes)
		if err != nil {
			return err
		}
		defer in.Close()
		sink := r.report.begin(log.index, log.rel)
		o := r.options(log)
		o.Symbols, o.Observe = nothing{}, func(o *print.Observation) { sink.note(o) }
		if err := r.filter(o).Run(ctx, stream.Steady(in), io.Discard); err != nil {
			return err
		}
		r.report.mu.Lock()
		defer r.report.mu.Unlock()
		r.report.merge(sink)
		return nil
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	list := make([]Listed, 0, len(r.report.modules))
	for _, m := range r.report.elfs() {
		list = append(list, r.listed(ctx, m))
	}
	return writeList(r.opt.Stdout, list, r.opt.JSON, r.opt.Check)
}

// listed says what is known of a module.
func (r *run) listed(ctx context.Context, m *module) Listed {
	l := Listed{Path: m.Name, LogBuildID: m.id, Effective: m.id, Tags: []string{}}
	if m.id != "" {
		l.Tags = append(l.Tags, "LOG")
	}
	if !r.opt.Check || r.opt.Finder == nil {
		return l
	}
	files := r.opt.Finder.Find(ctx, m.Module)
	if files == nil {
		l.Status = symsrc.NotFound.String()
		return l
	}
	l.Status = files.ElfStatus.String()
	if files.ElfStatus == symsrc.NotFound && files.DebugStatus != symsrc.NotFound {
		l.Found, l.Status = files.Debug, files.DebugStatus.String()
	} else if files.ElfStatus != symsrc.NotFound {
		l.Found = files.Elf
	}
	if l.Found == "" {
		return l
	}
	l.Tags = append(l.Tags, "FOUND")
	if files.ElfRange == (symsrc.Range{}) {
		l.FoundBuildID = buildIDOf(l.Found).String()
	}
	if l.Effective == "" {
		l.Effective = l.FoundBuildID
	}
	l.Mismatch = files.ElfStatus == symsrc.MismatchBuildID ||
		m.BuildID != "" && l.FoundBuildID != "" && l.FoundBuildID != m.BuildID.String()
	if l.Mismatch {
		l.Tags = append(l.Tags, "MISMATCH")
	}
	return l
}

// writeList writes `path\tBuildId:id`, and with check what was found.
func writeList(out io.Writer, list []Listed, asJSON, check bool) error {
	if asJSON {
		text, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return err
		}
		_, err = out.Write(append(symsrc.VisibleJSON(text), '\n'))
		return err
	}
	w := bufio.NewWriter(out)
	var row []byte
	for _, l := range list {
		id := l.LogBuildID
		if id == "" {
			id = "None"
		}
		row = append(append(appendEscaped(row[:0], l.Path), "\tBuildId:"...), id...)
		if check {
			row = appendField(appendField(row, l.Found), l.FoundBuildID)
			verdict := l.Status
			if l.Mismatch {
				verdict = "MISMATCH"
			}
			row = appendField(row, verdict)
		}
		w.Write(append(row, '\n'))
	}
	return w.Flush()
}

// buildIDOf returns the build ID of an ELF file, "" where it has none.
func buildIDOf(path string) symsrc.BuildID {
	info, err := os.Stat(path) // before it is opened, for it may be a FIFO
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := locate.ReadHead(f, info.Size())
	if err != nil {
		return ""
	}
	return head.ID
}
