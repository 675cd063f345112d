package elfdwarf

import (
	"debug/elf"
	"errors"
	"fmt"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// format is what the layout of a file's structures, and the meaning of its code, depend on.
type format struct {
	is64, big bool
	machine   elf.Machine
	typ       elf.Type
	flags     uint32 // e_flags, of the machine
}

// header is what is kept of an ELF file's headers.
type header struct {
	format
	sections  []sectionHeader
	segments  []segment
	debugOnly bool // see isDebugOnly
}

// rules are the choices that readers of ELF files make differently.
type rules struct {
	// zeroCode takes code at address 0 for what it says, which linkers leave where they dropped code.
	zeroCode bool
	// unplaced makes debug information and symbols of a relocatable file count from the starts of their sections, which all are 0.
	unplaced bool
	// endless lets a symbol without a size go on to the next one, whatever lies between.
	endless bool
	// noGNUPacked leaves out compressed sections of the older form, whose names begin with .zdebug_.
	noGNUPacked bool
}

// image is an ELF file in memory.
type image struct {
	header
	linkage
	rules  rules
	data   []byte
	id     symsrc.BuildID
	note   []byte // the part of data that is the build ID
	budget *budget.File
	// runtime returns the file that is loaded at run time, of which this one may be the debug file; nil where there is none.
	runtime func() *image
	placedSymbols
}

// sectionHeader is one row of the section header table.
type sectionHeader struct {
	name            string
	typ             elf.SectionType
	flags           elf.SectionFlag
	addr, off, size uint64
	link, info      uint32
	entsize         uint64
}

// segment is one row of the program header table.
type segment struct {
	typ         elf.ProgType
	flags       elf.ProgFlag
	off, filesz uint64 // in the file
	addr, size  uint64 // in memory
}

// maxSegments bounds the segments that are read, which questions go over; none of interest is that far behind.
const maxSegments = 1 << 12

// maxSectionName bounds the names of sections, of which many may share one end.
const maxSectionName = 64

var errNotELF = errors.New("no ELF magic")

// packed are the magics of files that hold an ELF file in a form that is not read here.
var packed = []string{"\x1f\x8b", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "BZh", "\x04\x22\x4d\x18"}

// readImage reads the ELF header and both tables (System V gABI, chapters 4 and 5), and the build ID.
func readImage(b []byte, left *budget.File, by rules) (*image, error) {
	if len(b) < 4 || string(b[:4]) != elf.ELFMAG {
		for _, magic := range packed {
			if len(b) > len(magic) && string(b[:len(magic)]) == magic {
				return nil, &StatusError{symsrc.UnsupportedCompressed, errors.New("a compressed file, not an ELF file")}
			}
		}
		return nil, &StatusError{symsrc.NotELF, errNotELF}
	}
	h := &image{data: b, budget: left, rules: by}
	h.runtime = func() *image { return h }
	if len(b) < 52 || b[elf.EI_CLASS] < 1 || b[elf.EI_CLASS] > 2 || b[elf.EI_DATA] < 1 || b[elf.EI_DATA] > 2 {
		return nil, corrupted("ELF header is cut off or of an unknown class")
	}
	h.is64 = b[elf.EI_CLASS] == byte(elf.ELFCLASS64)
	h.big = b[elf.EI_DATA] == byte(elf.ELFDATA2MSB)
	c := &bin.Cursor{B: b, P: 16, Big: h.big}
	h.typ = elf.Type(c.U16())
	h.machine = elf.Machine(c.U16())
	word := h.word()
	c.P = 24 + word
	phoff, shoff := c.Uint(word), c.Uint(word)
	h.flags = c.U32()
	c.Skip(2)
	phentsize, phnum, shentsize, shnum, shstrndx := c.U16(), uint64(c.U16()), c.U16(), uint64(c.U16()), uint64(c.U16())
	if !c.OK() {
		return nil, corrupted("ELF header is cut off")
	}
	if err := h.readSections(shoff, shentsize, shnum, shstrndx); err != nil {
		return nil, err
	}
	const headers = 2 // a header and its name take about so many times what they take in the file
	left.Hold(headers * len(h.sections) * int(shentsize))
	h.wide = h.is64
	if h.typ == elf.ET_REL {
		h.place()
	}
	h.apply(by)
	if err := h.readSegments(phoff, phentsize, phnum); err != nil {
		return nil, err
	}
	left.Hold(headers * len(h.segments) * int(phentsize))
	h.debugOnly = h.isDebugOnly()
	h.note = h.buildID()
	h.id = symsrc.BuildID(h.note)
	return h, nil
}

// word is the size of an address in the ELF structures.
func (h *format) word() int {
	if h.is64 {
		return 8
	}
	return 4
}

func (h *image) readSections(off uint64, entsize uint16, n, names uint64) error {
	if off == 0 {
		return nil // a file without section headers
	}
	b := h.data
	if want := uint16(40 + 24*(h.word()/8)); entsize != want {
		return corrupted("section headers of %d bytes instead of %d", entsize, want)
	}
	// The first header holds the counts that do not fit into the ELF header.
	first, ok := bin.Slice(b, off, uint64(entsize))
	if !ok {
		return corrupted("section header table at %#x goes past the end of the file", off)
	}
	zero := h.sectionHeader(first)
	if n == 0 {
		n = zero.size
	}
	if names == uint64(elf.SHN_XINDEX) {
		names = uint64(zero.link)
	}
	if n > uint64(len(b))/uint64(entsize) {
		return corrupted("%d section headers in a file of %d bytes", n, len(b))
	}
	table, ok := bin.Slice(b, off, n*uint64(entsize))
	if !ok {
		return corrupted("section header table at %#x goes past the end of the file", off)
	}
	h.sections = make([]sectionHeader, n)
	for i := range h.sections {
		s := h.sectionHeader(table[i*int(entsize):])
		h.sections[i] = s
		if s.flags&elf.SHF_EXECINSTR != 0 && s.flags&elf.SHF_ALLOC != 0 && s.addr == 0 && s.size > 0 {
			h.linkage.zeroCode = true
		}
	}
	return h.nameSections(table, int(entsize), names)
}

func (h *image) nameSections(table []byte, entsize int, names uint64) error {
	if names == uint64(elf.SHN_UNDEF) || len(h.sections) == 0 {
		return nil
	}
	if names >= uint64(len(h.sections)) {
		return corrupted("section %d with the sections' names does not exist", names)
	}
	strs, ok := h.contents(&h.sections[names])
	if !ok {
		return corrupted("the sections' names lie outside of the file")
	}
	for i := range h.sections {
		off, _ := bin.Uint(table, i*entsize, 4, h.big)
		c := bin.Cursor{B: strs[:min(uint64(len(strs)), off+maxSectionName)], P: int(off)}
		h.sections[i].name = string(c.CString())
	}
	return nil
}

func (h *format) sectionHeader(b []byte) (s sectionHeader) {
	c := &bin.Cursor{B: b, P: 4, Big: h.big}
	word := h.word()
	s.typ = elf.SectionType(c.U32())
	s.flags = elf.SectionFlag(c.Uint(word))
	s.addr, s.off, s.size = c.Uint(word), c.Uint(word), c.Uint(word)
	s.link, s.info = c.U32(), c.U32()
	c.Skip(uint64(word))
	s.entsize = c.Uint(word)
	return s
}

func (h *image) readSegments(off uint64, entsize uint16, n uint64) error {
	if n == 0 || off == 0 {
		return nil
	}
	n = min(n, maxSegments)
	word := h.word()
	if int(entsize) < 32+24*(word/8) {
		return corrupted("program headers of %d bytes", entsize)
	}
	table, ok := bin.Slice(h.data, off, n*uint64(entsize))
	if !ok {
		return corrupted("program header table at %#x goes past the end of the file", off)
	}
	for ; n > 0; n-- {
		c := &bin.Cursor{B: table, Big: h.big}
		s := segment{typ: elf.ProgType(c.U32())}
		if h.is64 {
			s.flags = elf.ProgFlag(c.U32())
		}
		s.off, s.addr = c.Uint(word), c.Uint(word)
		c.Skip(uint64(word)) // p_paddr
		s.filesz, s.size = c.Uint(word), c.Uint(word)
		if !h.is64 {
			s.flags = elf.ProgFlag(c.U32())
		}
		h.segments = append(h.segments, s)
		table = table[entsize:]
	}
	return nil
}

// contents returns the bytes of a section in the file; false where they lie outside of it.
func (h *image) contents(s *sectionHeader) ([]byte, bool) {
	if s.typ == elf.SHT_NOBITS {
		return nil, true
	}
	return bin.Slice(h.data, s.off, s.size)
}

// linkage says what addresses in debug information mean. A file that holds a part of another one's debug information has that one's.
type linkage struct {
	wide     bool     // addresses have 64 bits
	zeroCode bool     // code lies at address 0, as in relocatable files
	starts   []uint64 // where the sections of a relocatable file were placed; nil unless addresses are to count from there
}

// dead reports whether code at lo was dropped by the linker, which leaves 0, 1, −1 or −2 where the address was. Zero is a
// good address where code lies there, as in a relocatable file.
func (h *linkage) dead(lo uint64) bool {
	if lo > 1 && lo < 0xfffffffe {
		return false
	}
	if lo > 1 {
		return !h.wide || lo >= 1<<64-2
	}
	return !h.zeroCode
}

// buildID looks for the note NT_GNU_BUILD_ID in the note sections, then in the note segments, and returns the part of the file that
// is the ID.
func (h *image) buildID() []byte {
	for i := range h.sections {
		if s := &h.sections[i]; s.typ == elf.SHT_NOTE {
			notes, _ := h.contents(s)
			if id := h.findNote(notes); len(id) > 0 {
				return id
			}
		}
	}
	for _, s := range h.segments {
		if s.typ == elf.PT_NOTE {
			notes, _ := bin.Slice(h.data, s.off, s.filesz)
			if id := h.findNote(notes); len(id) > 0 {
				return id
			}
		}
	}
	return nil
}

func (h *format) findNote(notes []byte) []byte {
	const (
		ntGNUBuildID = 3
		maxNotes     = 1 << 10 // looked at in one place
	)
	c := &bin.Cursor{B: notes, Big: h.big}
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

// corrupted is the error of a file whose structure is damaged.
func corrupted(format string, args ...any) error {
	return &StatusError{symsrc.Corrupted, fmt.Errorf(format, args...)}
}
