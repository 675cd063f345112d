package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
)

// SymbolTable is a symbol table of a file (gABI, "Symbol Table"). The first lookups of addresses scan the raw table, later
// ones sort it.
type SymbolTable struct {
	rawSymbols
	scans  atomic.Int32
	last   atomic.Pointer[scanned] // what the last scan found
	once   sync.Once
	sorted symbolIndex
	more   []addressedEntry // the functions that sorted leaves out, since others begin at their addresses
	files  []fileSymbol
	found  []atomic.Pointer[Match] // of the symbols in sorted, nil until they are first used
	table  *names.Table            // the file's table of names
	byName nameHashes
	words  wordIndex
}

// rawSymbols is a symbol table as it is in the file.
type rawSymbols struct {
	Format
	raw, names, xindex []byte   // contents of the table, of its string table, and of its SHT_SYMTAB_SHNDX section
	ends               []uint64 // end addresses of the sections; 0 for those that are not loaded
	unbounded          bool     // see Rules.Unbounded
	opd                *descriptors
}

// symbol is a symbol that may name an address.
type symbol struct {
	addr, size uint64
	limit      uint64 // end address of its section
	name       uint32 // offset in the string table
	index      uint32 // in the symbol table
	local      bool
}

// fileSymbol is an STT_FILE symbol, which precedes the local symbols of a source file.
type fileSymbol struct{ name, index uint32 }

// SymbolTable returns the symbol table of a type, or nil if there is none or it is empty.
func (f *File) SymbolTable(typ elf.SectionType, names *names.Table) (*SymbolTable, error) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != typ {
			continue
		}
		raw, ok := f.Contents(s)
		if !ok || s.Link >= uint32(len(f.Sections)) {
			return nil, Corrupted("section %s lies outside of the file", s.Name)
		}
		if f.Type == elf.ET_REL {
			if placed := f.placeSymbols(i, raw); !f.Rules.SectionRelative {
				raw = placed
			}
		}
		strings, ok := f.Contents(&f.Sections[s.Link])
		if !ok {
			return nil, Corrupted("the strings of section %s lie outside of the file", s.Name)
		}
		t := &SymbolTable{table: names}
		t.rawSymbols = rawSymbols{Format: f.Format, unbounded: f.Rules.Unbounded, raw: raw, names: strings, opd: f.descriptors(), ends: make([]uint64, len(f.Sections))}
		if len(raw) < 2*t.entrySize() {
			return nil, nil
		}
		for j := range f.Sections {
			x := &f.Sections[j]
			if x.Flags&elf.SHF_ALLOC != 0 {
				t.ends[j] = x.Addr + x.Size
			}
			if x.Type == elf.SHT_SYMTAB_SHNDX && x.Link == uint32(i) {
				t.xindex, _ = f.Contents(x)
			}
		}
		return t, nil
	}
	return nil, nil
}

func (t *rawSymbols) entrySize() int {
	if t.Is64 {
		return elf.Sym64Size
	}
	return elf.Sym32Size
}

// each calls sym with every symbol from window.Lo to window.Hi that may name an address, and file with every STT_FILE symbol, in table
// order. sym may narrow the window.
func (t *rawSymbols) each(window *Span, sym func(*symbol), file func(fileSymbol)) {
	size := t.entrySize()
	var s symbol
	// Fast path for the most common format: nearly all entries are outside of a narrow window.
	usual := t.Is64 && !t.Big && t.opd == nil
	lo, width := window.Lo, window.Hi|1-window.Lo
	for i, b := 1, t.raw; ; i++ {
		if b = b[size:]; len(b) < size {
			return
		}
		if usual && binary.LittleEndian.Uint64(b[8:])-lo > width && elf.SymType(b[4]&15) != elf.STT_FILE {
			continue
		}
		t.visit(i, b, &s, window, sym, file)
		lo, width = window.Lo, window.Hi|1-window.Lo
	}
}

// visit is each for one entry, which has index i and is at the start of b. It uses s as memory for the symbol.
func (t *rawSymbols) visit(i int, b []byte, s *symbol, window *Span, sym func(*symbol), file func(fileSymbol)) {
	addr, info := t.entryAddr(b)
	if t.opd != nil {
		addr = t.opd.code(addr)
	}
	if isFile := elf.SymType(info&15) == elf.STT_FILE; !isFile && (addr < window.Lo || addr&^1 > window.Hi) {
		return
	}
	section := t.entry(b, s)
	s.addr, s.index = addr, uint32(i)
	switch elf.SymType(info & 15) {
	case elf.STT_FILE:
		file(fileSymbol{s.name, s.index})
		return
	case elf.STT_FUNC:
		if t.Machine == elf.EM_ARM {
			s.addr &^= 1 // bit 0 marks Thumb code
		}
	case elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_GNU_IFUNC:
	default:
		return
	}
	if s.limit = t.sectionEnd(section, i); s.limit == 0 || t.isMapping(s.name) {
		return
	}
	s.local = elf.SymBind(info>>4) == elf.STB_LOCAL
	sym(s)
}

// sectionEnd returns the end address of the section of the entry with index i, or 0 if that is not a loaded section. section is the
// entry's st_shndx.
func (t *rawSymbols) sectionEnd(section uint64, i int) uint64 {
	if section == uint64(elf.SHN_XINDEX) {
		section, _ = bin.Uint(t.xindex, 4*i, 4, t.Big)
	} else if section >= uint64(elf.SHN_LORESERVE) {
		return 0
	}
	if section == 0 || section >= uint64(len(t.ends)) {
		return 0
	}
	return t.ends[section]
}

// entryAddr returns st_value and st_info of an entry.
func (t *rawSymbols) entryAddr(b []byte) (addr uint64, info byte) {
	switch {
	case t.Is64 && !t.Big:
		return binary.LittleEndian.Uint64(b[8:]), b[4]
	case t.Is64:
		return binary.BigEndian.Uint64(b[8:]), b[4]
	}
	addr, _ = bin.Uint(b, 4, 4, t.Big)
	return addr, b[12]
}

// entry reads st_name and st_size into s, and returns st_shndx.
func (t *rawSymbols) entry(b []byte, s *symbol) (section uint64) {
	if t.Is64 && !t.Big && len(b) >= elf.Sym64Size { // the most common format
		s.name, s.size = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[16:])
		return uint64(binary.LittleEndian.Uint16(b[6:]))
	}
	name, _ := bin.Uint(b, 0, 4, t.Big)
	s.name = uint32(name)
	if t.Is64 {
		section, _ = bin.Uint(b, 6, 2, t.Big)
		s.size, _ = bin.Uint(b, 16, 8, t.Big)
		return section
	}
	s.size, _ = bin.Uint(b, 8, 4, t.Big)
	section, _ = bin.Uint(b, 14, 2, t.Big)
	return section
}

// isMapping reports whether a symbol is a mapping symbol ($a, $t, $d, $x), which marks the start of data or of code of one kind, or
// has no name.
func (t *rawSymbols) isMapping(name uint32) bool {
	switch t.Machine {
	case elf.EM_ARM, elf.EM_AARCH64, elf.EM_RISCV:
	default:
		return false
	}
	b := t.names
	if uint64(name)+1 >= uint64(len(b)) || b[name] == 0 {
		return true
	}
	if b[name] != '$' {
		// Relocatable files for RISC-V contain local labels inside of functions.
		label := t.Machine == elf.EM_RISCV && t.Type == elf.ET_REL && b[name] == '.' && b[name+1] == 'L'
		return label && (!t.unbounded || bytes.HasPrefix(b[name:], []byte(".L0 \x00"))) // llvm ignores only this one
	}
	switch b[name+1] {
	case 'd':
		return true
	case 'a', 't':
		return t.Machine == elf.EM_ARM
	case 'x':
		return t.Machine != elf.EM_ARM
	}
	return false
}

// str returns the string at an offset in the string table, or nil if it is outside of the table or longer than bin.MaxString.
func (t *rawSymbols) str(off uint32) []byte {
	if uint64(off) >= uint64(len(t.names)) {
		return nil
	}
	b := t.names[off:]
	n := bytes.IndexByte(b[:min(len(b), bin.MaxString+1)], 0)
	if n < 0 {
		return nil
	}
	return b[:n]
}

// NameAt returns the name of the symbol with an index, or nil.
func (t *rawSymbols) NameAt(index uint32) []byte {
	if uint64(index) >= uint64(len(t.raw)/t.entrySize()) {
		return nil
	}
	off, _ := bin.Uint(t.raw, int(index)*t.entrySize(), 4, t.Big)
	if b := t.str(uint32(off)); len(b) <= bin.MaxString {
		return b
	}
	return nil
}

// descriptors is the section .opd of the PowerPC 64-bit ELFv1 ABI (§3.2.4, "Function Descriptors"): the symbol of a function refers to
// its descriptor, whose first word is the address of the code. It is read lazily, because for a debug file its contents are in the
// runtime object.
type descriptors struct {
	f    *File
	once sync.Once
	addr uint64
	data []byte
}

const opdSection = ".opd"

// descriptors returns the function descriptors of the file, or nil if its symbols are addresses of code.
func (f *File) descriptors() *descriptors {
	if f.Machine != elf.EM_PPC64 || !f.Is64 || !f.Big {
		return nil
	}
	for i := range f.Sections {
		if f.Sections[i].Name == opdSection && f.Sections[i].Size > 0 {
			return &descriptors{f: f}
		}
	}
	return nil
}

// code returns the address of the function of a descriptor. Any other address is unchanged.
func (d *descriptors) code(addr uint64) uint64 {
	d.once.Do(d.read)
	if at := addr - d.addr; addr >= d.addr && at < uint64(len(d.data)) && uint64(len(d.data))-at >= 8 {
		addr, _ = bin.Uint(d.data, int(at), 8, true)
	}
	return addr
}

// unreadable reports whether there are descriptors but their contents are unknown, and so are the addresses of functions.
func (d *descriptors) unreadable() bool { return d != nil && d.data == nil }

// read reads the contents of the section.
func (d *descriptors) read() {
	r := d.f.Runtime()
	if r == nil {
		return
	}
	for i := range r.Sections {
		s := &r.Sections[i]
		if s.Name != opdSection || s.Type == elf.SHT_NOBITS {
			continue
		}
		b, ok := r.Contents(s)
		addr := s.Addr
		if r.Starts != nil { // llvm does not relocate them
			addr = r.SectionRelative(Span{Lo: addr}).Lo
		} else if ok && r.Type == elf.ET_REL {
			b, ok = r.relocated(i, b)
		}
		if ok {
			d.addr, d.data = addr, b
		}
		return
	}
}

// relocated returns the contents b of a section of a relocatable file after relocation.
func (f *File) relocated(section int, b []byte) ([]byte, bool) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != elf.SHT_RELA || s.Info != uint32(section) || s.Link != f.symbolSection {
			continue
		}
		entries, ok := f.Contents(s)
		f.Budget.Spend(len(b) + len(entries))
		if b = slices.Clone(b); !ok || !f.relocateSection(b, entries, true) {
			return nil, false
		}
	}
	return b, true
}

// Mapping is the kind of the code from an address up to the next Mapping.
type Mapping struct {
	Addr uint64
	Kind byte // 'a' for ARM code, 't' for Thumb code, 'd' for data
}

// Mappings returns the mapping symbols sorted by address, one per address.
func (t *rawSymbols) Mappings() (all []Mapping) {
	size := t.entrySize()
	for b := t.raw; len(b) >= size; b = b[size:] {
		addr, info := t.entryAddr(b)
		if elf.SymType(info&15) != elf.STT_NOTYPE || elf.SymBind(info>>4) != elf.STB_LOCAL {
			continue
		}
		name, _ := bin.Uint(b, 0, 4, t.Big)
		if name+1 >= uint64(len(t.names)) || t.names[name] != '$' {
			continue
		}
		switch kind := t.names[name+1]; kind {
		case 'a', 't', 'd':
			all = append(all, Mapping{addr, kind})
		}
	}
	slices.SortFunc(all, func(a, b Mapping) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind)) })
	return slices.CompactFunc(all, func(a, b Mapping) bool { return a.Addr == b.Addr })
}
