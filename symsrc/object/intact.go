package object

import (
	"errors"
	"runtime/debug"
	"slices"

	"qss-filter/symsrc"
)

// A mapped file may be overwritten in place while questions are answered from it. Whoever does so replaces its first page
// first, or cuts the file off before. So after each question the mapping must still show the headers and the build ID that it
// had when it was opened, which costs no system call; what was edited without a change of these is left to the look at the
// disk that module.stale takes.

// marks are the parts of a file that tell it from others, in the mapping, and what they were.
type marks struct {
	now [][]byte
	was []string
}

// add notes another part, and gives what it is.
func (m *marks) add(part []byte) string {
	m.now, m.was = append(m.now, part), append(m.was, string(part))
	return m.was[len(m.was)-1]
}

// elfHeader is the size of the larger ELF header; its fields tell where the tables of sections and segments are.
const elfHeader = 64

// shows reports whether the mapping still has them.
func (m *marks) shows() (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }() // the file is shorter
	for i, part := range m.now {
		if string(part) != m.was[i] {
			return false
		}
	}
	return true
}

// nearCompanions bounds the companions that are compared after each question: a package, a supplementary file. More are the
// files of single units.
const nearCompanions = 16

// intact reports whether a file, and those that are read with it, still are what was opened.
func (f *File) intact() bool {
	if !f.marks.shows() {
		return false
	}
	if late := f.late.file.Load(); late != nil && !late.intact() {
		return false
	}
	if f.near.Load() == 0 {
		return true
	}
	f.companions.mu.Lock()
	defer f.companions.mu.Unlock()
	return !slices.ContainsFunc(f.opened[:min(len(f.opened), nearCompanions)], func(c *File) bool { return !c.marks.shows() })
}

// intact tells the same of the module's files.
func (m *module) intact() bool {
	for _, f := range m.opened {
		if !f.intact() {
			return false
		}
	}
	return true
}

// maxReopened is how often one question opens files anew that are overwritten meanwhile.
const maxReopened = 3

var errUnsettled = errors.New("the file changes while it is read")

// unsettled returns the files of a module that is overwritten again and again: a later question may find them settled.
func unsettled(files *symsrc.Files) *symsrc.Files {
	changing := *files
	changing.ElfStatus, changing.DebugStatus = symsrc.ReadError, symsrc.ReadError
	changing.Note, changing.Retry = errUnsettled.Error(), func() bool { return true }
	return &changing
}
