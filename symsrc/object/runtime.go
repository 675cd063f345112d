package object

import (
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/elf"
)

// lateRuntime is the runtime object of a debug file that has all that most questions need, so that the object is opened
// only when one asks for machine code. It is closed with the debug file.
type lateRuntime struct {
	once sync.Once
	path string // "" where there is none
	part symsrc.Range
	file atomic.Pointer[File]
}

// runtime is the file that is loaded at run time: f, or where that is a debug file, the one that belongs with it; nil
// where there is none.
func (f *File) runtime() *File {
	if !f.elf.DebugOnly {
		return f
	}
	if f.other != nil && !f.other.elf.DebugOnly {
		return f.other
	}
	f.late.once.Do(func() {
		if f.late.path == "" {
			return
		}
		r, err := OpenRange(f.late.path, f.late.part)
		if err != nil {
			return
		}
		if r.elf.ID != f.elf.ID || r.elf.DebugOnly || r.elf.Machine != f.elf.Machine {
			r.Close()
			return
		}
		r.other = f
		r.elf.Budget.CountAs(f.elf.Budget)
		f.late.file.Store(r)
		r.elf.Budget.Use(fileWeight)
	})
	return f.late.file.Load()
}

// runtimeImage returns the image of runtime.
func (f *File) runtimeImage() *elf.File {
	if r := f.runtime(); r != nil {
		return r.elf
	}
	return nil
}

// askRuntime asks the runtime object, if there is one. What is wrong with that file is no fault of f's.
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

// close gives the file up.
func (l *lateRuntime) close() {
	if r := l.file.Load(); r != nil {
		r.Close()
	}
}

// changed reports whether the file on disk is another one by now, or one of those that its debug information names.
func (f *File) changed(path string) bool {
	if f.late.changed() || f.changedTwin() {
		return true
	}
	if f.stat == nil {
		return false
	}
	if diskcache.Changed(path, f.stat) {
		return true
	}
	f.companions.mu.Lock()
	defer f.companions.mu.Unlock()
	return slices.ContainsFunc(f.opened, func(c *File) bool { return c.changed(c.path) })
}
