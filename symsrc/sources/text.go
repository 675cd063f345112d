package sources

import (
	"crypto/md5"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of what is read and kept, in bytes and files.
const (
	maxSource = 16 << 20
	maxKept   = 64 << 20
	maxFiles  = 1 << 10
)

// texts holds files that were read.
type texts struct {
	mu   sync.Mutex
	m    map[string]*text // nil for what is no file
	size int
}

// text is a file.
type text struct {
	name    string // its path without links
	content string
	changed time.Time
	sum     func() string
	lines   []int // where each begins; found when asked for
	once    sync.Once
}

// read returns a file's text; nil where there is no such file, or none that may be read.
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

// readRegular reads a regular file and nothing else: paths of debug information are not to be trusted, and the opening of a
// device may act on it. A FIFO that takes the file's place does not block. Files that say they are empty
// are not read: they are, or they are the kernel's, such as /proc/self/environ. What has zero bytes is no text.
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

// nameOf returns the path of an open file without links: under what name it lies where it is, which no link to it changes. It is
// false where another file has taken its place.
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

// md5 is the sum of the content.
func (t *text) md5() string { return t.sum() }

// around returns up to n lines before and behind a line, with it, and the number of the first one.
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

// split finds the beginnings of lines.
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
