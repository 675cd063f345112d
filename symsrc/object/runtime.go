package object

import (
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// runtimeFile is the runtime object of a debug file: the file that is loaded at run time. It is opened lazily, because the debug file
// suffices for most queries, which are not about machine code. It is closed with the debug file.
type runtimeFile struct {
	of   *File
	once sync.Once
	path string // "" if there is none
	part symsrc.Range
	file atomic.Pointer[File]
}

// get returns the file that is loaded at run time: the file itself or, for a debug file, the runtime object. It returns nil if there is
// none.
func (l *runtimeFile) get() *File {
	f := l.of
	switch {
	case !f.elf.DebugOnly:
		return f
	case f.other != nil && !f.other.elf.DebugOnly:
		return f.other
	}
	l.once.Do(l.open)
	return l.file.Load()
}

// open opens the file at path if it is the runtime object of the debug file.
func (l *runtimeFile) open() {
	if l.path == "" {
		return
	}
	r, err := OpenRange(l.path, l.part)
	if err != nil {
		return
	}
	of := l.of.elf
	if r.elf.ID != of.ID || r.elf.DebugOnly || r.elf.Machine != of.Machine {
		r.Close()
		return
	}
	r.other = l.of
	r.elf.Budget.CountAs(of.Budget)
	l.file.Store(r)
	r.elf.Budget.Use(fileWeight)
}

// elfFile returns the ELF file of get, or nil.
func (l *runtimeFile) elfFile() *elf.File {
	if r := l.get(); r != nil {
		return r.elf
	}
	return nil
}

// withRuntime calls read with the file that is loaded at run time, if there is one. A fault of that file is not a fault of f.
func (f *File) withRuntime(read func(r *File)) {
	f.guard(func() {
		if r := f.runtimeFile.get(); r != nil {
			r.guard(func() { read(r) })
		}
	})
}

// changed reports whether the file on disk has changed since it was opened.
func (l *runtimeFile) changed() bool {
	r := l.file.Load()
	return r != nil && r.changed(l.path)
}

// close closes the file if it was opened.
func (l *runtimeFile) close() {
	if r := l.file.Load(); r != nil {
		r.Close()
	}
}
