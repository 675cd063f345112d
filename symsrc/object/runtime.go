package object

import (
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// lateRuntime is the runtime object of a debug file that has all that most questions need, so that the object is opened only when a
// question is about machine code. It is closed with the debug file.
type lateRuntime struct {
	of   *File
	once sync.Once
	path string // "" where there is none
	part symsrc.Range
	file atomic.Pointer[File]
}

// runtime returns the file that is loaded at run time: f, or where that is a debug file, the one that belongs with it; nil where there
// is none.
func (f *File) runtime() *File {
	switch {
	case !f.elf.DebugOnly:
		return f
	case f.other != nil && !f.other.elf.DebugOnly:
		return f.other
	}
	f.late.once.Do(f.late.open)
	return f.late.file.Load()
}

// open opens the file at the path, if it is the one.
func (l *lateRuntime) open() {
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

// image returns what File.runtime returns, as an ELF file.
func (l *lateRuntime) image() *elf.File {
	if r := l.of.runtime(); r != nil {
		return r.elf
	}
	return nil
}

// askRuntime calls read with the runtime object, if there is one. A fault of that file is not one of f.
func (f *File) askRuntime(read func(r *File)) {
	f.guard(func() {
		if r := f.runtime(); r != nil {
			r.guard(func() { read(r) })
		}
	})
}

// changed reports whether the file on disk is another one by now.
func (l *lateRuntime) changed() bool {
	r := l.file.Load()
	return r != nil && r.changed(l.path)
}

// close closes the file.
func (l *lateRuntime) close() {
	if r := l.file.Load(); r != nil {
		r.Close()
	}
}
