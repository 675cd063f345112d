package elfdwarf

import (
	"errors"
	"fmt"

	"qss-filter/symsrc"
)

// openOne opens one file of the module and checks its build ID; nil where that fails, or where the file is known to be
// of no use.
func (m *module) openOne(path string, part symsrc.Range, status symsrc.Status, want symsrc.BuildID) *File {
	if path == "" || status != symsrc.OK && status != symsrc.Incomplete {
		return nil
	}
	f, err := OpenRange(path, part)
	if err == nil && want != "" && f.id != want {
		f.Close()
		err = mismatch(part.Of(path), want, f.id)
	}
	if err != nil {
		m.fail(m.copyFiles(), path, err)
		return nil
	}
	m.opened = append(m.opened, openFile{f, path})
	return f
}

// copyFiles makes the module's Files its own: those that the finder gave are not changed.
func (m *module) copyFiles() *symsrc.Files {
	files := *m.files
	m.files = &files
	return &files
}

// fail notes why the file of that path is not used.
func (m *module) fail(files *symsrc.Files, path string, err error) {
	status := symsrc.UnknownError
	var s *StatusError
	if errors.As(err, &s) {
		status = s.Status
	}
	if path == files.Debug {
		files.DebugStatus = status
	}
	if path == files.Elf {
		files.ElfStatus = status
	}
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += err.Error()
}

// mismatch is the error of a file of another build.
func mismatch(path string, want, has symsrc.BuildID) error {
	if has == "" {
		return &StatusError{symsrc.MismatchBuildID, fmt.Errorf("%s: no build ID instead of %s", path, want)}
	}
	return &StatusError{symsrc.MismatchBuildID, fmt.Errorf("%s: build ID %s instead of %s", path, has, want)}
}
