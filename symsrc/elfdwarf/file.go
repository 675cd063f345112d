package elfdwarf

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/mapped"
)

// StatusError is an error that knows which of the reports' codes it is.
type StatusError struct {
	Status symsrc.Status
	Err    error
}

// Error says what went wrong.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }

// File is one ELF file. It may be asked by several goroutines at once.
type File struct {
	header
	data   []byte
	unmap  func() error
	stat   fs.FileInfo // when it was opened; nil for a file that is not on disk
	id     symsrc.BuildID
	packed int // what compressed sections unpack to, in bytes
	marks  marks
	companions
	placedSymbols

	compressed []packedSection
	gnuPacked  []*section // those whose names begin with .zdebug_
	twin       *twin      // nil where it is to have none

	isSplit bool  // it holds split units
	infoAt  int64 // where .debug_info stands in the file; 0 where it is not to be read there

	info, abbrev, arangeSets, line, lineStr, str, strOffsets, addr, rangeLists, rnglists, cuIndex, callFrames section
	symtab, dynsym                                                                                            *symbolTable
	names                                                                                                     nameTable
	alikes                                                                                                    alikes
	sources                                                                                                   sourceTable
	// other is the file that belongs with this one, executable and debug file; its symbols are used where this one has
	// none.
	other *File
	late  lateRuntime

	budget *budget.File // shared with its companions

	unread *StatusError // why the debug information is not read, though the file is

	fault atomic.Pointer[StatusError] // why the file is not read any more
	asked atomic.Bool                 // asked for one that a unit has
	steps atomic.Pointer[lineSteps]   // those used last
	forms atomic.Pointer[formTable]   // likewise

	read  atomic.Int64 // see mapped
	ahead ahead

	mu           sync.Mutex
	units        map[int]*unit
	abbrevTables map[abbrevKey]*abbrevs

	mini   miniDebug
	plt    stubTable
	eh     ehFrames
	signal trampolines
	modes  mappings
	golang goSection
	asLLVM bool     // see likeLLVM
	starts []uint64 // then: where the sections of a relocatable file were placed
	// skipLineZero gives code without a line that of the last row that has one.
	skipLineZero bool

	offsetsOnce    sync.Once
	offsets        []int      // of all units
	aranges, roots rangeTable // from .debug_aranges, and from units not listed there
}

// Open maps the file. Its errors carry a StatusError.
func Open(path string) (*File, error) {
	data, stat, unmap, err := mapped.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, withStatus(err))
	}
	f, err := newFile(data)
	if err != nil {
		unmap()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f.stat, f.unmap, f.path, f.find = stat, unmap, path, mapRegular
	return f, nil
}

// withStatus adds the code of an error of the operating system.
func withStatus(err error) error {
	status := symsrc.ReadError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status = symsrc.NotFound
	case errors.Is(err, fs.ErrPermission):
		status = symsrc.NoReadPermission
	}
	return &StatusError{status, err}
}

// newFile reads the headers of an ELF file in memory.
func newFile(data []byte) (*File, error) { return newPart(data, false, budget.NewFile(len(data))) }

// newPart reads the headers of an ELF file of which all sections, or those of split units, are of interest.
func newPart(data []byte, split bool, b *budget.File) (f *File, err error) {
	f = &File{data: data, budget: b, units: make(map[int]*unit), abbrevTables: make(map[abbrevKey]*abbrevs)}
	f.names.left, f.sources.left = b, b
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, faultOf(r)
		}
	}()
	f.marks.add(data[:min(len(data), elfHeader)])
	h, err := readHeader(data, b)
	if err != nil {
		return nil, err
	}
	f.header = *h
	f.id = symsrc.BuildID(f.marks.add(h.buildID(data)))
	if f.symtab, err = f.symbolTable(elf.SHT_SYMTAB); err != nil {
		return nil, err
	}
	if err := f.loadSections(split); err != nil {
		return nil, err
	}
	if f.dynsym, err = f.symbolTable(elf.SHT_DYNSYM); err != nil {
		return nil, err
	}
	return f, nil
}

// loadSections finds the sections of debug information.
func (f *File) loadSections(split bool) error {
	wanted := map[string]*section{"info": &f.info, "abbrev": &f.abbrev, "aranges": &f.arangeSets, "line": &f.line,
		"line_str": &f.lineStr, "str": &f.str, "str_offsets": &f.strOffsets, "addr": &f.addr,
		"ranges": &f.rangeLists, "rnglists": &f.rnglists, "cu_index": &f.cuIndex, "frame": &f.callFrames}
	loaded := make(map[uint32]*section)
	for i := range f.sections {
		sh := &f.sections[i]
		name, ok := strings.CutPrefix(sh.name, ".debug_")
		if !ok {
			name, ok = strings.CutPrefix(sh.name, ".zdebug_")
		}
		name, isSplit := strings.CutSuffix(name, ".dwo")
		s := wanted[name]
		if !ok || s == nil || (isSplit || s == &f.cuIndex) != split {
			continue
		}
		delete(wanted, name)
		if s != &f.callFrames {
			loaded[uint32(i)] = s
		}
		b, ok := f.contents(f.data, sh)
		if !ok {
			return corrupted("section %s lies outside of the file", sh.name)
		}
		err := s.load(&f.header, sh, b, f.budget)
		if status, ok := errors.AsType[*StatusError](err); ok && status.Status == symsrc.UnsupportedCompressed {
			f.unread = cmp.Or(f.unread, status)
			continue
		}
		if err != nil {
			return err
		}
		if s.unpack != nil {
			f.packed += s.size
			f.compressed = append(f.compressed, packedSection{i, sh.size, s})
		}
		if sh.name[1] == 'z' {
			f.gnuPacked = append(f.gnuPacked, s)
		}
		if s == &f.info && s.unpack == nil && f.typ != elf.ET_REL {
			f.infoAt = int64(sh.off)
		}
	}
	if f.unread != nil || f.typ == elf.ET_REL && !split && !f.relocate(loaded) {
		f.info.size = 0 // it means nothing
	}
	return nil
}

// maxMapped is about how many bytes of a mapped file may be read before its memory is given back.
const maxMapped = 256 << 20

// mapped notes that n bytes of the file were read which are not likely to be read again soon.
func (f *File) mapped(n int) {
	if f.unmap == nil || f.read.Add(int64(n)) < maxMapped {
		return
	}
	f.read.Store(0)
	release(f.data)
	if f.twin != nil && f.twin.mapped != nil {
		release(f.twin.mapped)
	}
}

// Close unmaps the file. It must not be asked any more.
func (f *File) Close() error {
	if f.twin != nil {
		close(f.twin.quit)
	}
	f.ahead.stop()
	f.closeTwin()
	f.closeCompanions()
	f.late.close()
	if f.unmap == nil {
		return nil
	}
	unmap := f.unmap
	f.unmap, f.data = nil, nil
	return unmap()
}

// BuildID is the file's build ID, "" where it has none.
func (f *File) BuildID() symsrc.BuildID { return f.id }

// HasDebug reports whether the file has DWARF.
func (f *File) HasDebug() bool { return f.info.size > 0 }

// HasSymbols reports whether the file has a symbol table.
func (f *File) HasSymbols() bool { return f.symtab != nil || f.dynsym != nil }

// guard runs read and gives up the file where that panics, or touches memory that the file on disk no longer backs.
func (f *File) guard(read func()) {
	if f.fault.Load() != nil {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f.fault.CompareAndSwap(nil, faultOf(r)) // what goes wrong next comes of what went wrong first
		}
	}()
	read()
}

// errDamaged is the error of a file that no check found damaged.
var errDamaged = errors.New("damaged in a way that is not understood")

// faultOf explains what was recovered.
func faultOf(r any) *StatusError {
	if err, ok := r.(error); ok && errors.Is(err, budget.ErrExceeded) {
		return &StatusError{symsrc.Corrupted, err}
	}
	if _, ok := r.(interface{ Addr() uintptr }); ok {
		return &StatusError{symsrc.ReadError, errors.New("the file was cut off while it was read")}
	}
	return &StatusError{symsrc.Corrupted, fmt.Errorf("%w: %v", errDamaged, r)}
}
