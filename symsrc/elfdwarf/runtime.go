package elfdwarf

import (
	"debug/elf"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// lateRuntime is the runtime object of a debug file that has all that most questions need, so that the object is opened
// only when one asks for machine code. It is closed with the debug file.
type lateRuntime struct {
	once sync.Once
	path string // "" where there is none
	part symsrc.Range
	file atomic.Pointer[File]
}

// isDebugOnly tells the files that objcopy --only-keep-debug makes: their sections of code have an address and a size, but
// no contents, and the offsets of their segments mean nothing.
func (h *header) isDebugOnly() bool {
	for i := range h.sections {
		if s := &h.sections[i]; s.isCode() && s.size > 0 {
			return s.typ == elf.SHT_NOBITS
		}
	}
	return false
}

// runtime is the file that is loaded at run time: f, or where that is a debug file, the one that belongs with it; nil
// where there is none.
func (f *File) runtime() *File {
	if !f.debugOnly {
		return f
	}
	if f.other != nil && !f.other.debugOnly {
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
		if r.id != f.id || r.debugOnly || r.machine != f.machine {
			r.Close()
			return
		}
		r.other = f
		r.budget.CountAs(f.budget)
		f.late.file.Store(r)
		r.budget.Use(fileWeight)
	})
	return f.late.file.Load()
}

// runtimeImage returns the image of runtime.
func (f *File) runtimeImage() *image {
	if r := f.runtime(); r != nil {
		return r.image
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
