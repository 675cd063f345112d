package batch

import (
	"bufio"
	"fmt"
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

// create begins a file, in a directory that is made where it is missing.
func create(path string) (*whole, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &whole{bufio.NewWriterSize(file, 64<<10), path, file, true}, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".qss-filter-*")
	if err != nil {
		return nil, err
	}
	return &whole{bufio.NewWriterSize(file, 64<<10), path, file, false}, nil
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
		err = os.Rename(w.file.Name(), w.path)
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
		os.Remove(w.file.Name())
	}
}
