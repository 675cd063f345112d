package batch

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// whole is a file that appears under its name when it is complete, and never otherwise.
type whole struct {
	*bufio.Writer
	path string
	file *os.File
}

// create begins a file, in a directory that is made where it is missing.
func create(path string) (*whole, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".qss-filter-*")
	if err != nil {
		return nil, err
	}
	return &whole{bufio.NewWriterSize(file, 64<<10), path, file}, nil
}

// commit gives the file its name.
func (w *whole) commit() error {
	err := w.Flush()
	if err == nil {
		err = w.file.Chmod(0o666 &^ umask)
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(w.file.Name(), w.path)
	}
	if err != nil {
		os.Remove(w.file.Name())
		err = fmt.Errorf("write %s: %w", w.path, err)
	}
	w.file = nil
	return err
}

// abort removes what there is of a file that has no name yet. It does nothing after commit.
func (w *whole) abort() {
	if w.file != nil {
		w.file.Close()
		os.Remove(w.file.Name())
		w.file = nil
	}
}
