// Package sources finds source files: on this machine, below directories that the user names, and at debuginfod servers. It
// checks whether a file is the one that was compiled.
package sources

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"qss-filter/symsrc"
)

// Options say where source files are. The zero Options look at their own paths only.
type Options struct {
	// Roots are directories that hold files by the whole of their path, or by its end.
	Roots []string
	// Fetch, if not nil, downloads the file of that path; file is "" if there is none. retry, if not nil, reports whether another
	// call may return it.
	Fetch func(ctx context.Context, id symsrc.BuildID, path string) (file string, retry func() bool)
}

// Sources finds source files. It may be used by several goroutines at once.
type Sources struct {
	opt   Options
	texts texts
}

// New returns a Sources.
func New(o Options) *Sources { return &Sources{opt: o} }

// candidate is a file that may be the one.
type candidate struct {
	path string
	// partly is set if only the end of the path is the same, exact if the file is known to belong to the build ID.
	partly, exact bool
}

// Excerpt returns the lines around a place, from the first file whose content is the one that was compiled, by its MD5. If
// the debug information has no MD5, they are from the first existing file, with a note if it may be the wrong one.
func (s *Sources) Excerpt(ctx context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	if p.Files != nil && p.Files.Text != nil {
		content, ok := p.Files.Text(p.Path)
		if !ok || len(content) > maxSource {
			return symsrc.Excerpt{Note: "no source in " + p.Files.Debug, Absent: true}
		}
		first, lines := newText(p.Path, content, time.Time{}).around(p.Line, around)
		return symsrc.Excerpt{First: first, Lines: lines}
	}
	differs := ""
	for _, c := range s.local(p.Local) {
		if x, ok := s.try(c, p, around, &differs); ok {
			return x
		}
	}
	var retry func() bool
	if s.opt.Fetch != nil && p.Module.BuildID != "" && path.IsAbs(p.Path) {
		var file string
		if file, retry = s.opt.Fetch(ctx, p.Module.BuildID, p.Path); file != "" {
			if x, ok := s.try(candidate{path: file, exact: true}, p, around, &differs); ok {
				return x
			}
		}
	}
	if differs != "" {
		return symsrc.Excerpt{Note: differs + " is not what was compiled (MD5)", Retry: retry}
	}
	return symsrc.Excerpt{Note: "no source file", Absent: true, Retry: retry}
}

// local returns where a file may be on this machine, the best place first.
func (s *Sources) local(file string) (all []candidate) {
	if file == "" {
		return nil
	}
	file = path.Clean(filepath.ToSlash(file))
	all = append(all, candidate{path: file})
	relative := strings.TrimLeft(file, "/")
	for strings.HasPrefix(relative, "../") {
		relative = relative[len("../"):]
	}
	for _, root := range s.opt.Roots {
		for rest, partly := relative, false; rest != ""; partly = true {
			all = append(all, candidate{path: filepath.Join(root, rest), partly: partly})
			_, after, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			rest = after
		}
	}
	return all
}

// try returns the lines of a candidate. ok is false if it does not exist, or if its content is another one, which is then noted in
// differs.
func (s *Sources) try(c candidate, p symsrc.Place, around int, differs *string) (x symsrc.Excerpt, ok bool) {
	t := s.texts.read(c.path)
	if t == nil || p.MD5 == "" && !c.exact && !(namesSource(c.path) && namesSource(t.name)) {
		return x, false
	}
	if p.MD5 != "" && t.md5() != p.MD5 {
		if *differs == "" {
			*differs = c.path
		}
		return x, false
	}
	if x.First, x.Lines = t.around(p.Line, around); len(x.Lines) == 0 {
		return symsrc.Excerpt{Note: fmt.Sprintf("%s has no line %d", c.path, p.Line)}, true
	}
	if p.MD5 == "" && !c.exact {
		x.Note = doubt(c, t.changed, p)
	}
	return x, true
}

// doubt returns why a candidate may be wrong, given its time of change, if its content cannot be checked.
func doubt(c candidate, changed time.Time, p symsrc.Place) string {
	made := p.Made
	if made.IsZero() && p.Files != nil {
		made = p.Files.Made()
	}
	switch {
	case made.IsZero():
		return c.path + "; not verified: the binary is not there"
	case changed.After(made):
		return c.path + " is newer than the binary: its lines may be others"
	case c.partly:
		return c.path + ", by the end of its path; not verified"
	}
	return ""
}

// extensions are those of source files that compilers with DWARF read or that are generated for them.
var extensions = strings.Fields(`.ada .adb .ads .asm .c .c++ .cc .cp .cpp .cppm .cr .cu .cuh .cxx .d .def .f .f03 .f08 .f90 .f95 .for .go .h .h++ .hh
	.hip .hpp .hs .hxx .i .ii .inc .inl .ipp .ixx .java .jl .kt .l .ll .m .mm .ml .nim .odin .p .pas .pxd .pyx .rs .s .scala .sv .swift .sx
	.tcc .td .tpp .txx .v .vala .y .yy .zig`)

// namesSource reports whether a path looks like that of source code: by its extension, or, since C++'s own headers have none, by
// a directory of headers. Debug information may be hostile and name any file, such as a key: a file that does not look like source
// is shown only if it is known to be the compiled one.
func namesSource(file string) bool {
	if ext := strings.ToLower(path.Ext(file)); ext != "" {
		return slices.Contains(extensions, ext)
	}
	return slices.Contains(strings.Split(path.Dir(file), "/"), "include")
}

// Bounds of what is read and kept, in bytes and files.
const (
	maxSource = 16 << 20
	maxKept   = 64 << 20
	maxFiles  = 1 << 10
)

// texts holds files that were read.
type texts struct {
	mu   sync.Mutex
	m    map[string]*text // nil for a path without a file
	size int
}

// text is a file.
type text struct {
	name    string // its path without links
	content string
	changed time.Time
	sum     func() string
	lines   []int // the offset of each; computed when needed
	once    sync.Once
}

// read returns a file's text, or nil if there is no such file or it may not be read.
func (t *texts) read(path string) *text {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.m[path]; ok {
		return known
	}
	read := readRegular(path)
	if t.m == nil || len(t.m) >= maxFiles || t.size > maxKept {
		t.m, t.size = map[string]*text{}, 0
	}
	t.m[path] = read
	if read != nil {
		t.size += len(read.content)
	}
	return read
}

// readRegular reads a regular file, and no other kind of file: paths of debug information cannot be trusted, and opening a
// device may act on it. A FIFO that replaces the file does not block. Files of size 0
// are not read: they are empty, or the kernel's, such as /proc/self/environ. A file with NUL bytes is not text.
func readRegular(path string) *text {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxSource {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	name, ok := nameOf(path, st)
	if !ok {
		return nil
	}
	var content strings.Builder
	if st.Size() > 0 {
		if n, err := io.Copy(&content, io.LimitReader(f, maxSource+1)); err != nil || n > maxSource {
			return nil
		}
	}
	if strings.IndexByte(content.String(), 0) >= 0 {
		return nil
	}
	return newText(name, content.String(), st.ModTime())
}

// nameOf returns the path of an open file with all links resolved. ok is
// false if another file has replaced it.
func nameOf(path string, opened os.FileInfo) (name string, ok bool) {
	name, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	st, err := os.Lstat(name)
	return filepath.ToSlash(name), err == nil && os.SameFile(st, opened)
}

func newText(name, content string, changed time.Time) *text {
	t := &text{name: name, content: content, changed: changed}
	t.sum = sync.OnceValue(func() string {
		sum := md5.Sum([]byte(t.content))
		return string(sum[:])
	})
	return t
}

// md5 returns the MD5 of the content.
func (t *text) md5() string { return t.sum() }

// around returns a line with up to n lines before and after it, and the number of the first one.
func (t *text) around(line, n int) (first int, lines []string) {
	t.once.Do(t.split)
	if line < 1 || line > len(t.lines) {
		return 0, nil
	}
	first = max(1, line-n)
	for i := first; i <= min(len(t.lines), line+n); i++ {
		end := len(t.content)
		if i < len(t.lines) {
			end = t.lines[i]
		}
		lines = append(lines, strings.TrimRight(t.content[t.lines[i-1]:end], "\r\n"))
	}
	return first, lines
}

// split finds the starts of lines.
func (t *text) split() {
	for at := 0; at < len(t.content); {
		t.lines = append(t.lines, at)
		n := strings.IndexByte(t.content[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
}
