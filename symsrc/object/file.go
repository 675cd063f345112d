package object

import (
	stdelf "debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/codeprobe"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/macho"
	"qss-filter/symsrc/mapped"
)

// File is one ELF or Mach-O file, with the other files of its module. Its methods are safe for concurrent use.
type File struct {
	diskFile
	symbols
	elf    *elf.File
	dwarf  *dwarf.Data
	code   *codeprobe.Code
	goTab  goTable
	policy *policy

	// other is the debug file of an executable, or the executable of a debug file; nil if there is none. Its symbols are used if this
	// file has none.
	other       *File
	runtimeFile runtimeFile
	deps        dependencies
	prefetch    prefetch
	objects     linkedObjects
	index       *moduleIndex // of the module that this file answers for; nil if it has none

	fault atomic.Pointer[elf.StatusError] // why the file is no longer read; nil if it is
}

// Open maps the file at path. Its errors wrap an *elf.StatusError.
func Open(path string) (*File, error) { return OpenRange(path, symsrc.Range{}) }

// OpenRange maps an ELF file that is the range r of the file at path. Its errors wrap an *elf.StatusError.
func OpenRange(path string, r symsrc.Range) (*File, error) { return openWith(path, r, &defaultPolicy) }

// openWith is OpenRange with a policy.
func openWith(path string, r symsrc.Range, policy *policy) (f *File, err error) {
	open := mapped.Open
	if !r.Whole() {
		open = func(path string) ([]byte, fs.FileInfo, func() error, error) {
			return mapped.OpenPart(path, r.Offset, r.Size)
		}
	}
	data, stat, unmap, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", r.Of(path), withStatus(err))
	}
	if f, err = newFileOf(data, false, budget.NewFile(len(data)), policy); err != nil {
		unmap()
		return nil, fmt.Errorf("open %s: %w", r.Of(path), err)
	}
	f.stat, f.unmap, f.path, f.start = stat, unmap, path, r.Offset
	f.deps.allow(f, mapRegular)
	return f, nil
}

// withStatus adds the status to an error of the operating system.
func withStatus(err error) error {
	status := symsrc.ReadError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status = symsrc.NotFound
	case errors.Is(err, fs.ErrPermission):
		status = symsrc.NoReadPermission
	}
	return &elf.StatusError{Status: status, Err: err}
}

// newFileOf reads the headers of an ELF file with the given bytes. With split set, only its split units are used.
func newFileOf(data []byte, split bool, b *budget.File, policy *policy) (f *File, err error) {
	f = &File{policy: policy}
	f.data, f.symbols.of, f.runtimeFile.of, f.objects.of = data, f, f, f
	f.names.Budget = b
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, faultOf(r)
		}
	}()
	f.fingerprint.add(data[:min(len(data), elfHeader)])
	if err = f.readHeaders(data, b); err != nil {
		return nil, err
	}
	f.elf.Runtime = f.runtimeFile.elfFile
	f.fingerprint.add(f.elf.Note)
	if f.symtab, err = f.elf.SymbolTable(stdelf.SHT_SYMTAB, &f.names); err != nil {
		return nil, err
	}
	if f.dwarf, err = dwarf.New(f.elf, split, &f.names, policy.dwarf, dwarf.Hooks{Prefetch: f.beginPrefetch, Consumed: f.releaseMapped, Reopen: f.reopen}); err != nil {
		return nil, err
	}
	if f.dynsym, err = f.elf.SymbolTable(stdelf.SHT_DYNSYM, &f.names); err != nil {
		return nil, err
	}
	f.code = codeprobe.New(f.elf, &f.dwarf.Frame, f.dynsym, f.symbols.full)
	return f, nil
}

// readHeaders reads the headers of an ELF or a Mach-O file.
func (f *File) readHeaders(data []byte, b *budget.File) (err error) {
	if !macho.Is(data) {
		f.elf, err = elf.New(data, b, f.policy.elf)
		return err
	}
	m, err := macho.New(data, b, f.policy.elf)
	if err == nil {
		f.elf, f.objects.macho = m.ELF, m
	}
	return err
}

// Close unmaps the file. No other method may be called afterwards.
func (f *File) Close() error {
	f.prefetch.stop()
	f.index.close()
	f.index = nil
	f.deps.close()
	f.runtimeFile.close()
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.data, f.elf.Data = nil, nil, nil
	return unmap()
}

// BuildID returns the file's build ID, or "" if it has none.
func (f *File) BuildID() symsrc.BuildID { return f.elf.ID }

// HasDebug reports whether the file has DWARF.
func (f *File) HasDebug() bool { return f.dwarf.Info.Size > 0 }

// HasSymbols reports whether the file has a symbol table.
func (f *File) HasSymbols() bool { return f.symtab != nil || f.dynsym != nil }

// guard calls read. If that panics, or accesses memory beyond the end of a truncated file, it sets fault, and the file is not read any
// more.
func (f *File) guard(read func()) {
	if f.fault.Load() != nil {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f.fault.CompareAndSwap(nil, faultOf(r)) // the first fault is the cause of later ones
		}
	}()
	read()
}

// errDamaged is the error for damage that was not detected by a check but by a panic.
var errDamaged = errors.New("damaged in a way that is not understood")

// faultOf returns the error for a recovered panic.
func faultOf(r any) *elf.StatusError {
	if err, ok := r.(error); ok && errors.Is(err, budget.ErrExceeded) {
		return &elf.StatusError{Status: symsrc.Corrupted, Err: err}
	}
	if _, ok := r.(interface{ Addr() uintptr }); ok {
		return &elf.StatusError{Status: symsrc.ReadError, Err: errors.New("the file was cut off while it was read")}
	}
	return &elf.StatusError{Status: symsrc.Corrupted, Err: fmt.Errorf("%w: %v", errDamaged, r)}
}

// beginPrefetch starts to unpack the sections that every query after the first one needs.
func (f *File) beginPrefetch() { f.prefetch.begin(f.dwarf.PrefetchSections()) }

// releaseMapped counts n bytes of the file that were read, and releases the memory of its mappings from time to time.
func (f *File) releaseMapped(n int) {
	if f.consumed(n) && f.index.isUsed() {
		mapped.Release(f.index.mapped)
	}
}

// changed reports whether the file at path, or another file that is read with it, has changed since it was opened.
func (f *File) changed(path string) bool {
	return f.runtimeFile.changed() || f.index.changed() || f.diskFile.changed(path) || f.deps.changed()
}

// intact reports whether the file, and those that are read with it, were not overwritten since they were opened.
func (f *File) intact() bool {
	if !f.fingerprint.matches() {
		return false
	}
	if late := f.runtimeFile.file.Load(); late != nil && !late.intact() {
		return false
	}
	return f.deps.intact()
}
