package macho

import (
	stdelf "debug/elf"
	"errors"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// File is a Mach-O file in memory.
type File struct {
	*Head
	// ELF is the file as package elf has it.
	ELF  *elf.File
	data []byte
	// functions are the sorted addresses at which functions are known to start. With isListed set, the linker has listed all of them;
	// otherwise some have an address in ends, too: there they end.
	functions []uint64
	isListed  bool
	ends      map[uint64]uint64
}

// Is reports whether a file is a Mach-O file of one architecture, by its first bytes.
func Is(b []byte) bool { return isThin(b) }

// New reads a file of one architecture. Its errors are *elf.StatusError.
func New(b []byte, limits *budget.File, by elf.Rules) (*File, error) {
	h, err := parseHead(b)
	if err != nil {
		status := symsrc.Corrupted
		if errors.Is(err, ErrNotMachO) {
			status = symsrc.NotELF
		}
		return nil, &elf.StatusError{Status: status, Err: err}
	}
	const weight = 4 // memory of a header and its name, per byte in the file
	end, _ := commandsEnd(b)
	limits.Hold(weight * int(end))
	f := &File{Head: h, data: b}
	header := elf.Header{Format: elf.Format{Is64: h.is64, Big: h.big, Machine: h.machine, Type: stdelf.ET_DYN}, DebugOnly: h.DebugOnly}
	const positionIndependent = 0x200000 // MH_PIE
	if h.typ == typeProgram && h.flags&positionIndependent == 0 {
		header.Type = stdelf.ET_EXEC
	}
	for _, s := range h.segments {
		if s.isMapped() {
			x := elf.Segment{Type: stdelf.PT_LOAD, Flags: stdelf.PF_R, Offset: s.offset, FileSize: s.fileSize, Addr: s.addr, Size: s.size}
			if s.executable || h.typ == typeObject {
				x.Flags |= stdelf.PF_X
			}
			header.Segments = append(header.Segments, x)
		}
	}
	header.Sections = make([]elf.Section, 1, len(h.sections)+4) // numbers of sections begin at 1
	for i := range h.sections {
		x, err := f.section(&h.sections[i], limits)
		if err != nil {
			return nil, err
		}
		header.Sections = append(header.Sections, x)
	}
	if header.Sections, err = f.appendSymbols(header.Sections, limits); err != nil {
		return nil, err
	}
	f.ELF = elf.NewForeign(b, header, limits, by)
	if h.ID != "" {
		f.ELF.SetID(b[h.uuidAt : h.uuidAt+len(h.ID)])
	}
	return f, nil
}

// isMapped reports whether a segment is a part of the image in memory. __PAGEZERO only keeps addresses free, below the image.
func (s *segment) isMapped() bool {
	switch s.name {
	case "__PAGEZERO", "__DWARF":
		return false
	}
	return s.size > 0
}

// Types and attributes of sections.
const (
	sectionType   = 0xff
	zerofill      = 0x1
	hugeZerofill  = 0xc
	threadZero    = 0x12
	onlyCode      = 0x80000000 // S_ATTR_PURE_INSTRUCTIONS
	someCode      = 0x00000400 // S_ATTR_SOME_INSTRUCTIONS
	symbolStubs   = 0x8
	maxSectionLen = 16
)

// isCode reports whether a section has instructions.
func (x *section) isCode() bool {
	return !x.isDebug() && (x.flags&(onlyCode|someCode) != 0 || x.name == "__text" && x.segment == "__TEXT")
}

// section returns a section as in ELF.
func (f *File) section(x *section, limits *budget.File) (elf.Section, error) {
	s := elf.Section{Name: x.elfName(), Type: stdelf.SHT_PROGBITS, Addr: x.addr, Offset: x.offset, Size: x.size}
	if !x.isDebug() {
		s.Flags |= stdelf.SHF_ALLOC
	}
	if strings.HasPrefix(x.segment, "__DATA") {
		s.Flags |= stdelf.SHF_WRITE
	}
	if x.isCode() {
		s.Flags |= stdelf.SHF_EXECINSTR
	}
	switch t := x.flags & sectionType; {
	case t == zerofill, t == hugeZerofill, t == threadZero, f.DebugOnly && !x.isDebug(), x.offset == 0:
		s.Type = stdelf.SHT_NOBITS
	}
	if x.isDebug() && f.typ == typeObject && x.relocCount > 0 {
		b, err := f.relocated(x, limits)
		if err != nil {
			return s, err
		}
		s.Bytes = b
	}
	return s, nil
}

// cutNames are the names of sections that are longer than a field of 16 bytes has room for.
var cutNames = map[string]string{
	"debug_str_offs":  "debug_str_offsets",
	"zdebug_str_off":  "zdebug_str_offsets",
	"zdebug_line_st":  "zdebug_line_str",
	"zdebug_rnglist":  "zdebug_rnglists",
	"zdebug_loclist":  "zdebug_loclists",
	"debug_gnu_pubna": "debug_gnu_pubnames",
}

// elfName returns the section's name in an ELF file: __debug_info is .debug_info there. Others than those of debug information that
// have such names do not count.
func (x *section) elfName() string {
	name, ok := strings.CutPrefix(x.name, "__")
	if !ok {
		return x.name
	}
	if whole := cutNames[name]; whole != "" && len(x.name) == maxSectionLen {
		name = whole
	}
	if isDebug := strings.HasPrefix(name, "debug_") || strings.HasPrefix(name, "zdebug_"); isDebug && !x.isDebug() {
		return x.name
	}
	return "." + name
}

// relocated returns the contents of a section of debug information in an object. Addresses in it are those of the object already, unless
// they are relative to a symbol: then they are added to its value. It returns nil if nothing is to be added.
func (f *File) relocated(x *section, limits *budget.File) ([]byte, error) {
	const entry = 8
	relocs, ok := bin.Slice(f.data, uint64(x.relocs), uint64(x.relocCount)*entry)
	if !ok {
		return nil, elf.Corrupted("the relocations of section %s lie outside of the file", x.name)
	}
	var b []byte
	for p := 0; p < len(relocs); p += entry {
		c := &bin.Cursor{B: relocs, P: p, Big: f.big}
		at, info := c.U32(), c.U32()
		const scattered = 0x80000000
		symbol, width, external := info&0xffffff, 1<<(info>>25&3), info>>27&1 != 0
		if f.big {
			symbol, width, external = info>>8, 1<<(info>>5&3), info>>4&1 != 0
		}
		if at&scattered != 0 && !f.is64 || !external {
			continue
		}
		value, ok := f.symbolValue(symbol)
		if b == nil {
			was, whole := bin.Slice(f.data, x.offset, x.size)
			if !whole {
				return nil, elf.Corrupted("section %s lies outside of the file", x.name)
			}
			limits.Hold(len(was))
			b = slices.Clone(was)
		}
		v, next := bin.Uint(b, int(at), width, f.big)
		if !ok || next == bin.Past || width < 4 {
			return nil, elf.Corrupted("section %s has a relocation of an unknown kind", x.name)
		}
		v += value
		for i := range width {
			shift := 8 * i
			if f.big {
				shift = 8 * (width - 1 - i)
			}
			b[int(at)+i] = byte(v >> shift)
		}
	}
	return b, nil
}
