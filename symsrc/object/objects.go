package object

import (
	"bytes"
	"errors"
	"io/fs"
	"sync"

	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/macho"
)

// linkedObjects are the files that a Mach-O program was linked from. They have its debug information if there is no dSYM: the program has only a
// map of its functions. They are opened lazily, and closed with the file as its other dependencies are.
type linkedObjects struct {
	of    *File
	macho *macho.File // nil for ELF files
	once  sync.Once
	table *macho.DebugMap // nil if there is none

	mu    sync.Mutex
	files map[*macho.Object]*File // nil for one that is not there, or is another one by now
}

// unitFor returns the unit with the debug information of an address, and the address in that unit; nil if there is none.
func (f *File) unitFor(addr uint64) (*dwarf.Unit, uint64) {
	if u := f.dwarf.UnitFor(addr); u != nil || f.HasDebug() || f.objects.macho == nil {
		return u, addr
	}
	return f.objects.unitFor(addr)
}

// unitFor returns the unit of the object with the function at an address, and the address in the object.
func (o *linkedObjects) unitFor(addr uint64) (*dwarf.Unit, uint64) {
	f := o.of
	o.once.Do(func() {
		if f.deps.mmap != nil && (f.other == nil || !f.other.HasDebug()) {
			o.table = o.macho.ReadDebugMap(f.elf.Budget)
		}
	})
	if o.table == nil {
		return nil, addr
	}
	object, name, start, size, ok := o.table.At(addr)
	if !ok {
		return nil, addr
	}
	x := o.file(object)
	if x == nil || x.symtab == nil {
		f.dwarf.SetMissing()
		return nil, addr
	}
	at, unique, ok := x.symtab.Function(name, 0)
	if !ok || !unique {
		return nil, addr
	}
	if object.Modified == 0 { // little else says that the object is the one that was linked
		if is := x.symtab.At(at); is == nil || is.Size != size {
			return nil, addr
		}
	}
	at += addr - start
	u := x.dwarf.UnitFor(at)
	if u == nil {
		return nil, addr
	}
	if frames := u.Frames(at, true, true); len(frames) == 0 || frames[len(frames)-1].Func == "" {
		return nil, addr // padding after the function, which has a line in an object
	}
	return u, at
}

// file returns an object, or nil if it is not there, or is not the one that was linked. It is opened once.
func (o *linkedObjects) file(object *macho.Object) *File {
	o.mu.Lock()
	defer o.mu.Unlock()
	x, ok := o.files[object]
	if !ok {
		x, _ = o.of.deps.openObject(object, o.macho.Arch)
		if o.files == nil {
			o.files = make(map[*macho.Object]*File)
		}
		o.files[object] = x
	}
	return x
}

var (
	errOtherObject = errors.New("the object is not the one that was linked")
	errNoMember    = errors.New("the library does not have the object")
)

// openObject opens an object that a program of an architecture was linked from. It must not have been modified since.
func (d *dependencies) openObject(object *macho.Object, arch string) (*File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.opened) >= maxDependencies {
		return nil, errTooMany
	}
	f, limits := d.of, d.of.elf.Budget
	limits.Hold(dependencyWeight)
	mapping, stat, unmap, err := d.mmap(object.Path)
	if err != nil {
		return nil, err
	}
	x, err := f.newObject(object, arch, mapping, stat)
	if err != nil {
		unmap()
		return nil, err
	}
	x.stat, x.unmap, x.path = stat, unmap, object.Path
	d.set(append(d.opened, x))
	return x, nil
}

// newObject reads an object in a file that is mapped.
func (f *File) newObject(object *macho.Object, arch string, data []byte, stat fs.FileInfo) (*File, error) {
	for _, s := range macho.Slices(bytes.NewReader(data), int64(len(data))) {
		if s.Arch == arch {
			data = data[s.Offset : s.Offset+s.Size]
			break
		}
	}
	// lld writes no times: then one that was modified after the program is not the one that was linked.
	if object.Modified == 0 && (f.stat == nil || stat.ModTime().After(f.stat.ModTime())) {
		return nil, errOtherObject
	}
	if object.Member != "" {
		var ok bool
		if data, ok = macho.Member(data, object.Member, object.Modified); !ok {
			return nil, errNoMember
		}
	} else if object.Modified != 0 && stat.ModTime().Unix() != object.Modified {
		return nil, errOtherObject
	}
	limits := f.elf.Budget
	limits.Grow(len(data))
	x, err := newFileOf(data, false, limits, f.policy)
	if err == nil && (x.elf.Big != f.elf.Big || x.elf.Is64 != f.elf.Is64 || x.elf.Machine != f.elf.Machine) {
		err = elf.Corrupted("the object is of another machine")
	}
	return x, err
}
