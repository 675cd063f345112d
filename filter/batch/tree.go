package batch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// logFile is a file of the input tree.
type logFile struct {
	index int
	rel   string // with slashes, from the input directory on
	path  string
	size  int64
}

// readable fails unless dir is a directory that can be listed.
func readable(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err = d.ReadDir(1); err != nil && !errors.Is(err, fs.ErrClosed) && err.Error() != "EOF" {
		if cause, ok := errors.AsType[*fs.PathError](err); ok { // "readdirent", and the path again
			err = cause.Err
		}
		return fmt.Errorf("read %s: %w", dir, err)
	}
	return nil
}

// walk lists the regular files below dir, and those that links point to, in the order of their paths. Links to directories
// are not followed. problem is told of what cannot be read; the rest goes on.
func walk(dir string, problem func(rel string, err error)) ([]logFile, error) {
	var logs []logFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel := relative(dir, path)
		if err != nil {
			if path == dir {
				return err
			}
			problem(rel, err)
			return nil
		}
		if path == dir || d.IsDir() {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			problem(rel, err)
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 && info.IsDir() {
			return nil
		}
		logs = append(logs, logFile{rel: rel, path: path, size: info.Size()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("walk %s: %w", dir, err)
	}
	slices.SortFunc(logs, func(a, b logFile) int { return strings.Compare(a.rel, b.rel) })
	for i := range logs {
		logs[i].index = i
	}
	return logs, nil
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
	outputs := []struct{ flag, dir string }{{"--output-dir", o.Output}, {"--report", o.Report}}
	for flag, file := range map[string]string{"--html": o.HTML, "--summary-json": o.SummaryJSON} {
		if file != "" && file != "-" {
			outputs = append(outputs, struct{ flag, dir string }{flag, filepath.Dir(file)})
		}
	}
	for _, out := range outputs {
		if inside(out.dir, o.Input) {
			return fmt.Errorf("%s %s: is %s or lies inside it, where the logs are read from (%w)", out.flag, out.dir, o.Input, ErrUsage)
		}
	}
	// The tree of outputs may reach the input from above.
	if inside(o.Input, o.Output) {
		rel := relative(resolved(o.Output), resolved(o.Input))
		if _, err := os.Lstat(filepath.Join(o.Input, filepath.FromSlash(rel))); err == nil {
			return fmt.Errorf("--output-dir %s: what %s becomes would lie inside %s (%w)", o.Output,
				filepath.Join(o.Input, rel), o.Input, ErrUsage)
		}
	}
	return nil
}

// inside tells whether path is dir or lies inside it, by whatever names. path need not be there.
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
