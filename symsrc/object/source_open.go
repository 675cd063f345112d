package object

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// open opens the usable ones of the files, and where that fails says so in a copy.
func (m *module) open(files *symsrc.Files, want symsrc.BuildID) {
	m.found, m.files, m.loaded = files, files, true
	m.patience.opened.Add(1)
	m.patience.open.Store(true)
	m.checked.Store(time.Now().UnixNano())
	debug := m.openOne(files.Debug, files.DebugRange, files.DebugStatus, want)
	var exe *File
	// A debug file of the wanted build that has everything makes the executable superfluous, and a cold look-up faster.
	if want == "" || debug == nil || !debug.HasDebug() || !debug.HasSymbols() {
		exe = m.openOne(files.Elf, files.ElfRange, files.ElfStatus, want)
	}
	atWord := m.of.by.trusting && want == ""
	if debug != nil && exe != nil && exe.elf.ID != "" && debug.elf.ID != exe.elf.ID && !atWord {
		fail(m.copyFiles(), files.Debug, mismatch(files.Debug, exe.elf.ID, debug.elf.ID))
		m.opened[0].Close()
		m.opened, debug = m.opened[1:], nil
	}
	m.file = exe
	if debug != nil && (exe == nil || debug.HasDebug() || !exe.HasDebug() || atWord) {
		m.file = debug
	}
	weight := int64(0)
	for _, f := range m.opened {
		weight += f.elf.Budget.InMemory() + fileWeight
		for _, other := range m.opened {
			if other != f && !atWord {
				f.other = other.File
			}
		}
	}
	m.weight.Store(weight)
	m.of.inUse.Add(weight)
	for _, f := range m.opened {
		f.elf.Budget.CountIn(&m.weight, &m.of.inUse)
	}
	if atWord && debug != nil && exe != nil { // the one has the lines, the other one the names
		debug.symtab, debug.dynsym = exe.symtab, exe.dynsym
	}
	if debug != nil && exe == nil && (files.ElfStatus == symsrc.OK || files.ElfStatus == symsrc.Incomplete) {
		debug.late.path, debug.late.part = files.Elf, files.ElfRange
	}
}

// close gives up the files, so that the next question loads them anew.
func (m *module) close() {
	for _, f := range m.opened {
		f.Close()
	}
	if m.loaded {
		m.patience.open.Store(false)
		m.patience.quick.Store(false)
		m.patience.asked.Store(0)
	}
	m.opened, m.kept, m.file, m.loaded = nil, nil, nil, false
	m.of.inUse.Add(-m.weight.Swap(0))
}

// openOne opens one file of the module and checks its build ID; nil where that fails, or where the file is known to be
// of no use.
func (m *module) openOne(path string, part symsrc.Range, status symsrc.Status, want symsrc.BuildID) *File {
	if path == "" || status != symsrc.OK && status != symsrc.Incomplete {
		return nil
	}
	var f *File
	err := m.refusal(path, part)
	if err == nil {
		f, err = openRangeBy(path, part, m.of.by)
	}
	if err == nil && want != "" && f.elf.ID != want {
		f.Close()
		err = mismatch(part.Of(path), want, f.elf.ID)
	}
	if err != nil {
		fail(m.copyFiles(), path, err)
		return nil
	}
	m.opened = append(m.opened, openFile{f, path, part})
	if f.dwarf.Unread != nil { // the symbols count
		files := m.copyFiles()
		files.DebugStatus = f.dwarf.Unread.Status
		files.Note = strings.TrimPrefix(files.Note+"; "+f.dwarf.Unread.Error(), "; ")
	}
	return f
}

// copyFiles makes the module's Files its own: those that the finder gave are not changed.
func (m *module) copyFiles() *symsrc.Files {
	files := *m.files
	m.files = &files
	return &files
}

// fail notes why the file of that path is not used.
func fail(files *symsrc.Files, path string, err error) {
	status := symsrc.UnknownError
	var s *elf.StatusError
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
		return &elf.StatusError{Status: symsrc.MismatchBuildID, Err: fmt.Errorf("%s: no build ID instead of %s", path, want)}
	}
	return &elf.StatusError{Status: symsrc.MismatchBuildID, Err: fmt.Errorf("%s: build ID %s instead of %s", path, has, want)}
}
