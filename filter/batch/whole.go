package batch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// whole is a file that appears under its name when it is complete, and never otherwise. What stands under the name and is no
// file, a device or a pipe, is written to as it is: a file in its place would be the end of it.
type whole struct {
	*bufio.Writer
	path string
	file *os.File
	asIs bool
	// rename puts the file, that has another name so far, in its place, and drop removes it.
	rename, drop func() error
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
	path := filepath.Join(o.dir, name)
	if info, err := o.root.Lstat(name); err == nil && isSpecial(info) {
		file, err := o.root.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, o.failed(err)
		}
		return newWhole(file, path), nil
	}
	for {
		temporary := filepath.Join(filepath.Dir(name), fmt.Sprintf(".qss-filter-%016x", rand.Uint64()))
		file, err := o.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, o.failed(err)
		}
		w := newWhole(file, path)
		w.asIs = false
		w.rename = func() error { return o.failed(o.root.Rename(temporary, name)) }
		w.drop = func() error { return o.root.Remove(temporary) }
		return w, nil
	}
}

// failed puts the directory before the path of an error.
func (o *outputs) failed(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: filepath.Join(o.dir, cause.Path), Err: cause.Err}
	}
	return err
}

// isSpecial reports whether a file is a device, a pipe or the like.
func isSpecial(info fs.FileInfo) bool {
	return !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0
}

// newWhole returns a file that is written to as it is.
func newWhole(file *os.File, path string) *whole {
	return &whole{Writer: bufio.NewWriterSize(file, 64<<10), path: path, file: file, asIs: true}
}

// creatable fails where a file of the directory could not be written.
func (o *outputs) creatable(name string) error {
	if info, err := o.root.Lstat(name); err == nil && (info.IsDir() || isSpecial(info)) {
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

// creatable fails where a file could not be written, which else is found at the end of a run that may be long; "" and - are none.
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
	if info, err := os.Stat(path); err == nil && isSpecial(info) {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return newWhole(file, path), nil
	}
	o, err := openOutputs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	w, err := o.create(filepath.Base(path))
	if err != nil {
		o.close()
		return nil, err
	}
	rename, drop := w.rename, w.drop
	w.drop = func() error { defer o.close(); return drop() }
	w.rename = func() error {
		err := rename()
		if err == nil { // otherwise it is dropped
			o.close()
		}
		return err
	}
	return w, nil
}

// commit gives the file its name.
func (w *whole) commit() error {
	err := w.Flush()
	if err == nil && !w.asIs {
		err = w.file.Chmod(0o666 &^ umask)
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && !w.asIs {
		err = w.rename()
	}
	if err != nil {
		w.remove()
		err = fmt.Errorf("write %s: %w", w.path, err)
	}
	w.file = nil
	return err
}

// abort removes what there is of a file that has no name yet. It does nothing after commit.
func (w *whole) abort() {
	if w.file != nil {
		w.file.Close()
		w.remove()
		w.file = nil
	}
}

// remove removes the file that has not got its name.
func (w *whole) remove() {
	if !w.asIs {
		_ = w.drop() // there is nothing else to be done
	}
}
