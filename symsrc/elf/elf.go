// Package elf reads ELF files in memory, for any machine: headers, sections, segments, symbols and notes. The bytes may be damaged or
// hostile: everything that is read is checked, and counted by a budget.File.
//
//   - elf.go: File and its headers, and the build ID
//   - content.go: the contents of a section, unpacked as far as needed; relocatable files: their sections are placed at addresses,
//     and the sections of debug information are relocated
//   - address.go: conversion of offsets to addresses, machine code, machine-dependent facts, and the symbol at an address
//   - symtab.go: symbol tables, mapping symbols and function descriptors; byname.go: symbols by their names, and by words in them
//   - minidebug.go: the symbol table of stripped files in .gnu_debugdata
package elf

import (
	"debug/elf"
	"errors"
	"fmt"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// Format holds the fields of the ELF header that determine the layout of the file's structures and the interpretation of its code.
type Format struct {
	Is64, Big bool // ELFCLASS64, ELFDATA2MSB
	Machine   elf.Machine
	Type      elf.Type
	Flags     uint32 // e_flags, machine-dependent
}

// Header holds the headers of an ELF file.
type Header struct {
	Format
	Sections  []Section
	Segments  []Segment
	DebugOnly bool   // see isDebugOnly
	overlays  []Span // see Overlaid
}

// Rules select the behavior where readers of ELF files differ.
type Rules struct {
	// CodeAtZero accepts code at address 0, which is otherwise taken for code that the linker discarded.
	CodeAtZero bool
	// SectionRelative makes addresses in debug information and symbols of a relocatable file relative to the start of the section,
	// as they are in the file.
	SectionRelative bool
	// Unbounded lets a symbol without a size extend to the next symbol, also across sections.
	Unbounded bool
	// SkipZdebug ignores compressed sections of the older GNU form, whose names begin with .zdebug_.
	SkipZdebug bool
}

// File is an ELF file in memory.
type File struct {
	Header
	Addressing
	Rules  Rules
	Data   []byte         // the whole file
	ID     symsrc.BuildID // "" if it has none
	Note   []byte         // the build ID, as a part of Data; nil if it has none
	Budget *budget.File   // limits the work and the memory for the file
	// Runtime returns the file that is loaded at run time: this one or, if this one is a debug file, the one that belongs to it. It
	// returns nil if that is not known.
	Runtime func() *File
	placedSymbols
}

// Section is one entry of the section header table.
type Section struct {
	Name               string
	Type               elf.SectionType
	Flags              elf.SectionFlag
	Addr, Offset, Size uint64
	Link, Info         uint32
	entsize            uint64
	Bytes              []byte // the contents, where these are not a part of the file; nil otherwise
}

// Segment is one entry of the program header table.
type Segment struct {
	Type             elf.ProgType
	Flags            elf.ProgFlag
	Offset, FileSize uint64 // in the file
	Addr, Size       uint64 // in memory
}

// maxSegments bounds the number of segments that are read, because lookups scan all of them. Real files have far fewer.
const maxSegments = 1 << 12

// maxSectionName bounds the length of section names, because many headers of a hostile file may refer to one long name.
const maxSectionName = 64

var errNotELF = errors.New("no ELF magic")

// compressedMagics are the magic numbers of compressed files, which may contain an ELF file: gzip, xz, zstd, bzip2, LZ4.
var compressedMagics = []string{"\x1f\x8b", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "BZh", "\x04\x22\x4d\x18"}

// New reads the ELF header, the section and program header tables (System V gABI, chapters 4 and 5), and the build ID. Its errors
// are *StatusError.
func New(b []byte, limits *budget.File, by Rules) (*File, error) {
	if len(b) < 4 || string(b[:4]) != elf.ELFMAG {
		for _, magic := range compressedMagics {
			if len(b) > len(magic) && string(b[:len(magic)]) == magic {
				return nil, &StatusError{symsrc.UnsupportedCompressed, errors.New("a compressed file, not an ELF file")}
			}
		}
		return nil, &StatusError{symsrc.NotELF, errNotELF}
	}
	h := &File{Data: b, Budget: limits, Rules: by}
	h.Runtime = func() *File { return h }
	if len(b) < 52 || b[elf.EI_CLASS] < 1 || b[elf.EI_CLASS] > 2 || b[elf.EI_DATA] < 1 || b[elf.EI_DATA] > 2 {
		return nil, Corrupted("ELF header is cut off or of an unknown class")
	}
	h.Is64 = b[elf.EI_CLASS] == byte(elf.ELFCLASS64)
	h.Big = b[elf.EI_DATA] == byte(elf.ELFDATA2MSB)
	c := &bin.Cursor{B: b, P: 16, Big: h.Big}
	h.Type = elf.Type(c.U16())
	h.Machine = elf.Machine(c.U16())
	word := h.WordSize()
	c.P = 24 + word
	phoff, shoff := c.Uint(word), c.Uint(word)
	h.Flags = c.U32()
	c.Skip(2)
	phentsize, phnum, shentsize, shnum, shstrndx := c.U16(), uint64(c.U16()), c.U16(), uint64(c.U16()), uint64(c.U16())
	if !c.OK() {
		return nil, Corrupted("ELF header is cut off")
	}
	if err := h.readSections(shoff, shentsize, shnum, shstrndx); err != nil {
		return nil, err
	}
	const headers = 2 // memory of a header and its name, per byte in the file
	limits.Hold(headers * len(h.Sections) * int(shentsize))
	h.wide = h.Is64
	if h.Type == elf.ET_REL {
		h.place()
	}
	h.applyRules(by)
	if err := h.readSegments(phoff, phentsize, phnum); err != nil {
		return nil, err
	}
	limits.Hold(headers * len(h.Segments) * int(phentsize))
	h.DebugOnly = h.isDebugOnly()
	h.findOverlays()
	h.Note = h.buildID()
	h.ID = symsrc.BuildID(h.Note)
	return h, nil
}

// NewForeign returns the File of another format, whose reader has found what the headers of an ELF file have.
func NewForeign(b []byte, h Header, limits *budget.File, by Rules) *File {
	f := &File{Header: h, Data: b, Budget: limits, Rules: by}
	f.Runtime = func() *File { return f }
	f.wide = f.Is64
	for i := range f.Sections {
		if s := &f.Sections[i]; s.IsCode() && s.Addr == 0 && s.Size > 0 {
			f.Addressing.codeAtZero = true
		}
	}
	f.applyRules(by)
	return f
}

// SetID sets the build ID, which is a part of the file.
func (f *File) SetID(id []byte) { f.Note, f.ID = id, symsrc.BuildID(id) }

// WordSize returns the size of an address in the ELF structures, in bytes.
func (f *Format) WordSize() int {
	if f.Is64 {
		return 8
	}
	return 4
}

func (f *File) readSections(off uint64, entsize uint16, n, names uint64) error {
	if off == 0 {
		return nil // a file without section headers
	}
	b := f.Data
	if want := uint16(40 + 24*(f.WordSize()/8)); entsize != want {
		return Corrupted("section headers of %d bytes instead of %d", entsize, want)
	}
	// The first section header holds the counts that do not fit into the ELF header.
	first, ok := bin.Slice(b, off, uint64(entsize))
	if !ok {
		return Corrupted("section header table at %#x goes past the end of the file", off)
	}
	zero := f.sectionHeader(first)
	if n == 0 {
		n = zero.Size
	}
	if names == uint64(elf.SHN_XINDEX) {
		names = uint64(zero.Link)
	}
	if n > uint64(len(b))/uint64(entsize) {
		return Corrupted("%d section headers in a file of %d bytes", n, len(b))
	}
	table, ok := bin.Slice(b, off, n*uint64(entsize))
	if !ok {
		return Corrupted("section header table at %#x goes past the end of the file", off)
	}
	f.Sections = make([]Section, n)
	for i := range f.Sections {
		s := f.sectionHeader(table[i*int(entsize):])
		f.Sections[i] = s
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && s.Addr == 0 && s.Size > 0 {
			f.Addressing.codeAtZero = true
		}
	}
	return f.nameSections(table, int(entsize), names)
}

// nameSections sets the names of the sections. names is the index of the section with the names.
func (f *File) nameSections(table []byte, entsize int, names uint64) error {
	if names == uint64(elf.SHN_UNDEF) || len(f.Sections) == 0 {
		return nil
	}
	if names >= uint64(len(f.Sections)) {
		return Corrupted("section %d with the sections' names does not exist", names)
	}
	strs, ok := f.Contents(&f.Sections[names])
	if !ok {
		return Corrupted("the sections' names lie outside of the file")
	}
	for i := range f.Sections {
		off, _ := bin.Uint(table, i*entsize, 4, f.Big)
		c := bin.Cursor{B: strs[:min(uint64(len(strs)), off+maxSectionName)], P: int(off)}
		f.Sections[i].Name = string(c.CString())
	}
	return nil
}

func (f *Format) sectionHeader(b []byte) (s Section) {
	c := &bin.Cursor{B: b, P: 4, Big: f.Big}
	word := f.WordSize()
	s.Type = elf.SectionType(c.U32())
	s.Flags = elf.SectionFlag(c.Uint(word))
	s.Addr, s.Offset, s.Size = c.Uint(word), c.Uint(word), c.Uint(word)
	s.Link, s.Info = c.U32(), c.U32()
	c.Skip(uint64(word))
	s.entsize = c.Uint(word)
	return s
}

func (f *File) readSegments(off uint64, entsize uint16, n uint64) error {
	if n == 0 || off == 0 {
		return nil
	}
	n = min(n, maxSegments)
	word := f.WordSize()
	if int(entsize) < 32+24*(word/8) {
		return Corrupted("program headers of %d bytes", entsize)
	}
	table, ok := bin.Slice(f.Data, off, n*uint64(entsize))
	if !ok {
		return Corrupted("program header table at %#x goes past the end of the file", off)
	}
	for ; n > 0; n-- {
		c := &bin.Cursor{B: table, Big: f.Big}
		s := Segment{Type: elf.ProgType(c.U32())}
		if f.Is64 {
			s.Flags = elf.ProgFlag(c.U32())
		}
		s.Offset, s.Addr = c.Uint(word), c.Uint(word)
		c.Skip(uint64(word)) // p_paddr
		s.FileSize, s.Size = c.Uint(word), c.Uint(word)
		if !f.Is64 {
			s.Flags = elf.ProgFlag(c.U32())
		}
		f.Segments = append(f.Segments, s)
		table = table[entsize:]
	}
	return nil
}

// Contents returns the bytes of a section in the file. It returns false if they are not completely in the file.
func (f *File) Contents(s *Section) ([]byte, bool) {
	switch {
	case s.Bytes != nil:
		return s.Bytes, true
	case s.Type == elf.SHT_NOBITS:
		return nil, true
	}
	return bin.Slice(f.Data, s.Offset, s.Size)
}

// Addressing says how addresses in debug information are to be interpreted. A file with a part of another file's debug information
// has the Addressing of that file.
type Addressing struct {
	wide       bool     // addresses have 64 bits
	codeAtZero bool     // 0 is a valid address of code
	Starts     []uint64 // sorted addresses at which the sections of a relocatable file were placed; nil unless Rules.SectionRelative is set
}

// IsTombstone reports whether lo is an address that linkers write in place of the address of discarded code: 0, 1, −1 or −2. 0 is a
// valid address if the file has code there.
func (h *Addressing) IsTombstone(lo uint64) bool {
	if lo > 1 && lo < 0xfffffffe {
		return false
	}
	if lo > 1 {
		return !h.wide || lo >= 1<<64-2
	}
	return !h.codeAtZero
}

// IsDoubtful reports whether code at lo may be discarded or not: the file has code where linkers move discarded code.
func (h *Addressing) IsDoubtful(lo uint64) bool { return lo <= 1 && h.codeAtZero }

// buildID returns the build ID, as a part of the file, from the note NT_GNU_BUILD_ID in a note section or a note segment. It returns
// nil if there is none.
func (f *File) buildID() []byte {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == elf.SHT_NOTE {
			notes, _ := f.Contents(s)
			if id := f.findNote(notes); len(id) > 0 {
				return id
			}
		}
	}
	for _, s := range f.Segments {
		if s.Type == elf.PT_NOTE {
			notes, _ := bin.Slice(f.Data, s.Offset, s.FileSize)
			if id := f.findNote(notes); len(id) > 0 {
				return id
			}
		}
	}
	return nil
}

// findNote returns the build ID in the notes of a section or a segment, or nil.
func (f *Format) findNote(notes []byte) []byte {
	const (
		ntGNUBuildID = 3
		maxNotes     = 1 << 10 // in one section or segment
	)
	c := &bin.Cursor{B: notes, Big: f.Big}
	for n := 0; n < maxNotes && c.OK() && c.P < len(notes); n++ {
		namesz, descsz, typ := uint64(c.U32()), uint64(c.U32()), c.U32()
		name := c.Bytes(namesz)
		c.P = (c.P + 3) &^ 3
		desc := c.Bytes(descsz)
		c.P = (c.P + 3) &^ 3
		if typ == ntGNUBuildID && string(name) == "GNU\x00" && len(desc) > 0 && len(desc) <= 64 {
			return desc
		}
	}
	return nil
}

// Corrupted returns the *StatusError of a file whose structure is damaged.
func Corrupted(format string, args ...any) error {
	return &StatusError{symsrc.Corrupted, fmt.Errorf(format, args...)}
}

// isDebugOnly reports whether the file was created by objcopy --only-keep-debug: its code sections have an address and a size but
// no contents, and the file offsets of its segments are meaningless.
func (h *Header) isDebugOnly() bool {
	for i := range h.Sections {
		if s := &h.Sections[i]; s.IsCode() && s.Size > 0 {
			return s.Type == elf.SHT_NOBITS
		}
	}
	return false
}

// Span is the range of the addresses a with Lo ≤ a < Hi.
type Span struct{ Lo, Hi uint64 }

// Covers reports whether the range contains an address.
func (s Span) Covers(a uint64) bool { return a-s.Lo < s.Hi-s.Lo }

// StatusError is an error with its status in reports.
type StatusError struct {
	Status symsrc.Status
	Err    error
}

// Error returns the text of the cause.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }
