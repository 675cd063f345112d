package tree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"qss-filter/symsrc/diskcache"
)

// whole is a buffered diskcache.File, whose errors name its path.
type whole struct {
	*bufio.Writer
	path string
	file *diskcache.File
}

// outputs is a directory that files are written into, and never out of it, whatever links are there already.
type outputs struct {
	dir  string
	root *os.Root
}

// openOutputs opens a directory, which is made where it is missing.
func openOutputs(dir string) (*outputs, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &outputs{dir, root}, nil
}

func (o *outputs) close() { o.root.Close() }

// create begins a file of the directory. Its own directories are made where they are missing; a link in the place of the file is
// replaced.
func (o *outputs) create(name string) (*whole, error) {
	if dir := filepath.Dir(name); dir != "." {
		if err := o.root.MkdirAll(dir, 0o777); err != nil {
			return nil, o.failed(err)
		}
	}
	file, err := diskcache.OutputIn(o.root, name)
	if err != nil {
		return nil, o.failed(err)
	}
	return newWhole(file, filepath.Join(o.dir, name)), nil
}

// failed puts the directory before the path of an error.
func (o *outputs) failed(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: filepath.Join(o.dir, cause.Path), Err: cause.Err}
	}
	return err
}

func newWhole(file *diskcache.File, path string) *whole {
	return &whole{Writer: bufio.NewWriterSize(file, 64<<10), path: path, file: file}
}

// creatable fails where a file of the directory could not be written.
func (o *outputs) creatable(name string) error {
	if info, err := o.root.Lstat(name); err == nil && (info.IsDir() || diskcache.IsSpecial(info)) {
		return creatable(filepath.Join(o.dir, name))
	}
	w, err := o.create(name)
	if err != nil {
		return err
	}
	w.abort()
	return nil
}

// fill writes the whole of the file.
func (w *whole) fill(write func(io.Writer) error) error {
	defer w.abort()
	if err := write(w); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.commit()
}

// creatable fails where a file could not be written, which otherwise is found at the end of a run that may be long; "" and - are none.
func creatable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: %w", path, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		return nil // opening a pipe waits for its reader
	}
	w, err := create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	w.abort()
	return nil
}

// create begins a file that the user has named, in a directory that is made where it is missing. A link to a device is followed.
func create(path string) (*whole, error) {
	if info, err := os.Stat(path); err != nil || !diskcache.IsSpecial(info) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
	}
	file, err := diskcache.Output(path)
	if err != nil {
		return nil, err
	}
	return newWhole(file, path), nil
}

// commit renames the file to its name.
func (w *whole) commit() error {
	err := w.Flush()
	if err == nil {
		err = w.file.Commit()
	}
	if err != nil {
		w.file.Abort()
		err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return err
}

// abort removes what there is of a file that has no name yet. It does nothing after commit.
func (w *whole) abort() { w.file.Abort() }
