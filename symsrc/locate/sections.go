package locate

import (
	"bytes"
	"math"

	"qss-filter/symsrc"
)

// Section and segment types, section flags, and the note with a build ID (gABI; GNU gABI extensions).
const (
	shtNull   = 0
	shtSymtab = 2
	shtNote   = 7
	shtNobits = 8
	shtDynsym = 11

	shfAlloc     = 0x2
	shfExecinstr = 0x4

	ptNote = 4

	ntGNUBuildID = 3
)

// section has the needed fields of an Elf32_Shdr or Elf64_Shdr.
type section struct {
	name, typ   uint32
	flags       uint64
	offset      uint64
	size, align uint64
	link, info  uint32
}

func (f *elfFile) section(b []byte) section {
	s := section{
		name: f.order.Uint32(b), typ: f.order.Uint32(b[4:]), flags: f.word(b, 8, 8), offset: f.word(b, 16, 24),
		size: f.word(b, 20, 32), align: f.word(b, 32, 48),
	}
	at := 24
	if f.is64 {
		at = 40
	}
	s.link, s.info = f.order.Uint32(b[at:]), f.order.Uint32(b[at+4:])
	return s
}

// sections reads the section headers. A file without them, as sstrip makes, is valid.
func (f *elfFile) sections() error {
	if f.shnum == 0 {
		return nil
	}
	if f.shnum > maxHeaders/f.shentsz {
		return corrupted("%d section headers", f.shnum)
	}
	headers, err := f.read(f.shoff, f.shnum*f.shentsz)
	if err != nil {
		return err
	}
	names, err := f.sectionNames(headers)
	if err != nil {
		return err
	}
	var code, noCode bool // sections of instructions: with and without content
	for ; len(headers) > 0; headers = headers[f.shentsz:] {
		s := f.section(headers)
		if s.flags&(shfAlloc|shfExecinstr) == shfAlloc|shfExecinstr && s.size > 0 {
			code = code || s.typ != shtNobits
			noCode = noCode || s.typ == shtNobits
		}
		if s.typ == shtNull || s.typ == shtNobits || s.size == 0 {
			continue
		}
		f.end = max(f.end, s.offset+min(s.size, math.MaxUint64-s.offset))
		if err := f.content(s, nameAt(names, s.name)); err != nil {
			return err
		}
	}
	f.debugOnly = noCode && !code
	return nil
}

// sectionNames reads .shstrtab, up to its bound.
func (f *elfFile) sectionNames(headers []byte) ([]byte, error) {
	if f.shstrndx == 0 { // SHN_UNDEF
		return nil, nil
	}
	if f.shstrndx >= f.shnum {
		return nil, corrupted("section %d of %d holds the names", f.shstrndx, f.shnum)
	}
	s := f.section(headers[f.shstrndx*f.shentsz:])
	if !f.holds(s.offset, s.size) {
		return nil, beyond("the section names lie beyond the end")
	}
	return f.read(s.offset, min(s.size, maxNames))
}

// longestName is enough to distinguish all names of interest from others.
const longestName = len(".gnu_debuglink") + 1

// nameAt returns the name at off, cut after longestName bytes.
func nameAt(names []byte, off uint32) []byte {
	if uint64(off) >= uint64(len(names)) {
		return nil
	}
	n := names[off:]
	n = n[:min(len(n), longestName)]
	if end := bytes.IndexByte(n, 0); end >= 0 {
		n = n[:end]
	}
	return n
}

// content reads one section that has bytes in the file.
func (f *elfFile) content(s section, name []byte) error {
	if s.typ == shtNote {
		return f.notes(s.offset, s.size, s.align)
	}
	switch r, ok := means(s, name); {
	case !ok:
		return nil
	case !f.holds(s.offset, s.size):
		return beyond("section %q lies beyond the end", name)
	default:
		f.rank = max(f.rank, r)
	}
	if string(name) == ".gnu_debuglink" {
		return f.debuglink(s)
	}
	return nil
}

// means returns the rank of a file with the section, and whether the section is of interest.
func means(s section, name []byte) (rank, bool) {
	switch {
	case s.typ == shtSymtab:
		return symbols, true
	case s.typ == shtDynsym:
		return dynamic, true
	case len(name) < 8 || name[0] != '.':
		return bare, false
	}
	switch string(name) {
	case ".debug_info", ".zdebug_info":
		return debugInfo, true
	case ".gnu_debugdata", ".gopclntab":
		return symbols, true
	case ".gnu_debuglink":
		return bare, true
	}
	return bare, false
}

// debuglink reads .gnu_debuglink: a file name with its NUL, padding to a multiple of 4, the CRC (GDB manual, "Separate
// Debug Files"). It ignores a section with another format.
func (f *elfFile) debuglink(s section) error {
	if s.size > maxLinkName+8 {
		return nil
	}
	b, err := f.read(s.offset, s.size)
	if err != nil {
		return err
	}
	end := bytes.IndexByte(b, 0)
	crc := (end + 4) &^ 3
	if end <= 0 || crc+4 > len(b) {
		return nil
	}
	f.link, f.linkCRC = string(b[:end]), f.order.Uint32(b[crc:])
	return nil
}

// segments looks for the build ID in the PT_NOTE segments. They count only if no section has one: in a file with
// debug sections only, the program headers still have the offsets of the executable.
func (f *elfFile) segments() error {
	want := uint64(32)
	if f.is64 {
		want = 56
	}
	if f.phnum == 0 {
		return nil
	}
	if f.phentsize != want {
		return corrupted("program headers of %d bytes", f.phentsize)
	}
	if f.phnum > maxHeaders/want {
		return corrupted("%d program headers", f.phnum)
	}
	b, err := f.read(f.phoff, f.phnum*want)
	if err != nil {
		return err
	}
	for ; len(b) > 0 && f.id == ""; b = b[want:] {
		if f.order.Uint32(b) != ptNote {
			continue
		}
		off, size := f.word(b, 4, 8), f.word(b, 16, 32)
		if f.debugOnly && !f.holds(off, size) {
			continue
		}
		if err := f.notes(off, size, f.word(b, 28, 48)); err != nil {
			return err
		}
	}
	return nil
}

// notes looks for NT_GNU_BUILD_ID in a section of notes. An invalid note ends the search.
func (f *elfFile) notes(off, size, align uint64) error {
	if f.id != "" {
		return nil
	}
	if !f.holds(off, size) {
		return beyond("notes lie beyond the end")
	}
	b, err := f.read(off, min(size, maxNote))
	if err != nil {
		return err
	}
	if align != 8 {
		align = 4
	}
	for len(b) >= 12 {
		namesz, descsz, typ := uint64(f.order.Uint32(b)), uint64(f.order.Uint32(b[4:])), f.order.Uint32(b[8:])
		desc := (12 + namesz + align - 1) &^ (align - 1)
		if desc+descsz > uint64(len(b)) {
			return nil
		}
		if typ == ntGNUBuildID && namesz == 4 && string(b[12:16]) == "GNU\x00" && descsz > 0 && descsz <= 64 {
			f.id = symsrc.BuildID(b[desc : desc+descsz])
			return nil
		}
		next := (desc + descsz + align - 1) &^ (align - 1)
		b = b[min(next, uint64(len(b))):]
	}
	return nil
}
