package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
	"slices"
	"sync"
	"sync/atomic"
)

// SymbolTable is a symbol table of a file (gABI, "Symbol Table"). The first address is looked for in the raw table, the
// second one sorts it.
type SymbolTable struct {
	rawSymbols
	touched atomic.Bool
	once    sync.Once
	sorted  symbolIndex
	files   []fileSymbol
	cache   []uint32     // numbers of names, as in sorted; set atomically
	table   *names.Table // of the file
	byName  nameHashes
	words   wordIndex
}

// rawSymbols is a symbol table as it is in the file, and what is needed to read it.
type rawSymbols struct {
	Format
	raw, names, xindex []byte   // contents of the table, of its strings, and of SHT_SYMTAB_SHNDX
	ends               []uint64 // where the sections end that are in memory at run time; 0 for the others
	endless            bool     // a symbol without a size goes on to the next one, whatever lies between
	opd                *descriptors
}

// symbol is a symbol that may name an address.
type symbol struct {
	addr, size uint64
	limit      uint64 // the end of its section
	name       uint32 // its offset in the strings
	index      uint32 // in the table
	local      bool
}

// fileSymbol is the STT_FILE symbol that stands before the local symbols of a source file.
type fileSymbol struct{ name, index uint32 }

// SymbolTable reads the table of a type; nil where there is none with any symbols.
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
			if placed := f.placeSymbols(i, raw); !f.Rules.Unplaced {
				raw = placed
			}
		}
		strings, ok := f.Contents(&f.Sections[s.Link])
		if !ok {
			return nil, Corrupted("the strings of section %s lie outside of the file", s.Name)
		}
		t := &SymbolTable{table: names}
		t.rawSymbols = rawSymbols{Format: f.Format, endless: f.Rules.Endless, raw: raw, names: strings, opd: f.descriptors(), ends: make([]uint64, len(f.Sections))}
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

// each calls sym with every symbol from window.lo to window.hi that may name an address, and file with every STT_FILE
// symbol, in table order. sym may narrow the window.
func (t *rawSymbols) each(window *Span, sym func(*symbol), file func(fileSymbol)) {
	size := t.entrySize()
	var s symbol
	// Nearly all entries are outside of a narrow window: in the usual kind of file that is seen at once.
	usual := t.Is64 && !t.Big && t.opd == nil
	lo, width := window.Lo, window.Hi|1-window.Lo
	for i, b := 1, t.raw; ; i++ {
		if b = b[size:]; len(b) < size {
			return
		}
		if usual && binary.LittleEndian.Uint64(b[8:])-lo > width && elf.SymType(b[4]&15) != elf.STT_FILE {
			continue
		}
		t.look(i, b, &s, window, sym, file)
		lo, width = window.Lo, window.Hi|1-window.Lo
	}
}

// look does what each does for one entry, the one of index i, which begins b. s is memory for it.
func (t *rawSymbols) look(i int, b []byte, s *symbol, window *Span, sym func(*symbol), file func(fileSymbol)) {
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
			s.addr &^= 1 // set for Thumb code
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

// sectionEnd returns where the section of the entry with index i ends; 0 where it is in none that is in memory.
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

// entryAddr reads what tells at once whether an entry is of use: st_value and st_info.
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

// entry reads st_name and st_size into s, and gives st_shndx.
func (t *rawSymbols) entry(b []byte, s *symbol) (section uint64) {
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

// isMapping tells the symbols that only mark where code of one kind, or data, begins ($a, $t, $d, $x).
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
		// Objects of RISC-V keep the labels of places within functions.
		label := t.Machine == elf.EM_RISCV && t.Type == elf.ET_REL && b[name] == '.' && b[name+1] == 'L'
		return label && (!t.endless || bytes.HasPrefix(b[name:], []byte(".L0 \x00"))) // llvm leaves only these out
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

// Match is what a symbol says of an address.
type Match struct {
	Name  *names.Name
	Start uint64
	Sized bool   // the symbol has a size, so that it is known to reach the address
	File  []byte // of a local symbol
}

// At finds the symbol that covers the address: the nearest one at or below it. One without a size goes on to the next
// or to the end of its section; one that ends before the address leaves it without a name.
func (t *SymbolTable) At(addr uint64) (c Match, ok bool) {
	if !t.touched.Load() && t.touched.CompareAndSwap(false, true) {
		return t.scan(addr)
	}
	t.once.Do(t.sort)
	i := t.sorted.at(addr)
	if i < 0 {
		return c, false
	}
	s := symbol{addr: t.sorted.addrs[i], index: t.sorted.entries[i]}
	b := t.raw[int(s.index)*t.entrySize():]
	s.limit = t.sectionEnd(t.entry(b, &s), int(s.index))
	if !t.covers(&s, addr) {
		return c, false
	}
	c.Start, c.Sized = s.addr, s.size > 0
	number := atomic.LoadUint32(&t.cache[i])
	if number == 0 {
		number = t.nameOf(&s)
		atomic.StoreUint32(&t.cache[i], number)
	}
	c.Name = t.table.At(number)
	if _, info := t.entryAddr(b); elf.SymBind(info>>4) == elf.STB_LOCAL {
		k, _ := slices.BinarySearchFunc(t.files, s.index, func(f fileSymbol, index uint32) int { return cmp.Compare(f.index, index) })
		if k > 0 {
			c.File = t.str(t.files[k-1].name)
		}
	}
	return c, true
}

// scan does at's work without a sorted table.
func (t *SymbolTable) scan(addr uint64) (c Match, ok bool) {
	var best symbol
	var file, bestFile fileSymbol
	window := Span{0, addr}
	t.each(&window, func(s *symbol) {
		if s.addr <= addr && (best.index == 0 || s.addr > best.addr || s.addr == best.addr && s.size >= best.size) {
			best, bestFile = *s, file
			window.Lo = s.addr
		}
	}, func(f fileSymbol) { file = f })
	if best.index == 0 || !t.covers(&best, addr) {
		return c, false
	}
	c = Match{Name: t.table.At(t.nameOf(&best)), Start: best.addr, Sized: best.size > 0}
	if best.local && bestFile.index != 0 {
		c.File = t.str(bestFile.name)
	}
	return c, true
}

// covers reports whether a symbol at or below the address reaches it.
func (t *rawSymbols) covers(s *symbol, addr uint64) bool {
	if s.size == 0 {
		return (addr < s.limit || t.endless) && !t.opd.lost()
	}
	return addr-s.addr < s.size
}

func (t *SymbolTable) nameOf(s *symbol) uint32 { return t.table.Find(t.str(s.name)) }

// str is the string at an offset; nil where it lies outside or is too long.
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

// NameAt is the name of the symbol of that index.
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
