package elfdwarf

import (
	"debug/elf"
	"qss-filter/symsrc/bin"
	"slices"
)

// firstPlaced is the first address that sections of relocatable files are given: beyond what lies in any of them, so that an
// address tells whether it is one of these or counts from the start of a section.
const firstPlaced = 1 << 30

// place gives the sections of a relocatable file addresses of their own, as a linker would: in the file all begin at 0.
func (h *image) place() {
	const limit = 1 << 31
	next := uint64(firstPlaced)
	for i := range h.sections {
		s := &h.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.addr != 0 || s.size == 0 || s.size > limit-next {
			continue
		}
		s.addr = next
		if next = (next + s.size + 0xff) &^ 0xf; next >= limit {
			break
		}
	}
	h.linkage.zeroCode = false
}

// placed is the address, in a relocatable file, of what lies so far into the first section of code, or of data, that
// is as long: the section that llvm takes. The address of a symbol is one already.
func (f *header) placed(off uint64, code bool) uint64 {
	if f.typ != elf.ET_REL || off >= firstPlaced {
		return off
	}
	for i := range f.sections {
		s := &f.sections[i]
		isCode := s.flags&elf.SHF_EXECINSTR != 0
		if isCode == code && s.flags&elf.SHF_ALLOC != 0 && off < s.size {
			return s.addr + off
		}
	}
	return ^uint64(0) >> 1 // nothing is there
}

// placedSymbols is what relocations need of the symbol table.
type placedSymbols struct {
	symbolSection uint32 // the number of the table
	symbolValues  []uint64
}

// relocation is what one of a type does to a number of some bytes in debug information.
type relocation struct {
	size int
	add  int // 0: the symbol's value and the addend replace it, else they are added or taken away
}

// relocations are those of each machine's ABI that compilers write for debug information. One of size 0 stands in what is
// not read here: places of thread-local variables, and of the table of contents.
var relocations = map[elf.Machine]map[uint32]relocation{
	elf.EM_X86_64:  {0: {}, 1: {size: 8}, 10: {size: 4}, 11: {size: 4}, 17: {}, 21: {}},
	elf.EM_386:     {0: {}, 1: {size: 4}, 32: {}},
	elf.EM_AARCH64: {0: {}, 256: {}, 257: {size: 8}, 258: {size: 4}, 1029: {}},
	elf.EM_ARM:     {0: {}, 2: {size: 4}, 106: {}},
	elf.EM_MIPS:    {0: {}, 2: {size: 4}, 18: {size: 8}, 39: {}, 41: {}},
	elf.EM_PPC:     {0: {}, 1: {size: 4}, 78: {}},
	elf.EM_PPC64:   {0: {}, 1: {size: 4}, 38: {size: 8}, 51: {}, 78: {}},
	elf.EM_S390:    {0: {}, 4: {size: 4}, 22: {size: 8}, 52: {}, 53: {}},
	elf.EM_RISCV: {0: {}, 1: {size: 4}, 2: {size: 8}, 8: {}, 9: {}, 33: {1, 1}, 34: {2, 1}, 35: {4, 1}, 36: {8, 1},
		37: {1, -1}, 38: {2, -1}, 39: {4, -1}, 40: {8, -1}},
}

// relocate applies the relocations of a relocatable file to its sections of debug information, which come by their
// numbers. It returns what the sections were that it changed. It is false where one is of an unknown type, for then the debug
// information means nothing.
func (f *image) relocate(debug map[uint32]*section) (before map[*section][]byte, ok bool) {
	left := len(f.data) // bounds what sections that lie over each other may hold
	before = make(map[*section][]byte)
	for i := range f.sections {
		sh := &f.sections[i]
		if sh.typ != elf.SHT_RELA && sh.typ != elf.SHT_REL {
			continue
		}
		s := debug[sh.info]
		if s == nil {
			continue
		}
		entries, ok := f.contents(sh)
		if left -= len(entries); !ok || left < 0 || sh.link != f.symbolSection {
			return nil, false
		}
		b := s.all()
		if len(b) != s.size {
			return nil, false
		}
		if _, own := before[s]; !own {
			f.budget.Hold(len(b))
			before[s], b = b, slices.Clone(b)
			s.unpack = nil
			s.plain(b)
		}
		if !f.relocateSection(b, entries, sh.typ == elf.SHT_RELA) {
			return nil, false
		}
	}
	return before, true
}

// relocateSection applies the entries of one section to b.
func (f *image) relocateSection(b, entries []byte, addends bool) bool {
	known, word := relocations[f.machine], f.word()
	size := 2 * word
	if addends {
		size += word
	}
	for ; len(entries) >= size; entries = entries[size:] {
		c := &bin.Cursor{B: entries, Big: f.big}
		off, info := c.Uint(word), c.Uint(word)
		typ, symbol := uint32(info), info>>32
		if !f.is64 {
			typ, symbol = uint32(info&0xff), info>>8
		}
		r, ok := known[typ]
		if !ok || symbol >= uint64(len(f.symbolValues)) {
			return false
		}
		if r.size == 0 {
			continue
		}
		if off >= uint64(len(b)) || r.size > len(b)-int(off) {
			return false
		}
		old, _ := bin.Uint(b, int(off), r.size, f.big)
		v, addend := f.symbolValues[symbol], old
		if addends {
			addend = c.Uint(word)
		}
		switch v += addend; r.add {
		case 1:
			v = old + v
		case -1:
			v = old - v
		}
		put(b[off:int(off)+r.size], v, f.big)
	}
	return true
}

// placeSymbols gives the symbols of a relocatable file the addresses of their sections, in a copy of the table.
func (f *image) placeSymbols(table int, raw []byte) []byte {
	f.budget.Hold(2 * len(raw))
	raw, f.symbolValues = slices.Clone(raw), nil
	var xindex []byte
	for i := range f.sections {
		if x := &f.sections[i]; x.typ == elf.SHT_SYMTAB_SHNDX && x.link == uint32(table) {
			xindex, _ = f.contents(x)
		}
	}
	size, value, index, word := elf.Sym32Size, 4, 14, f.word()
	if f.is64 {
		size, value, index = elf.Sym64Size, 8, 6
	}
	for i := 0; (i+1)*size <= len(raw); i++ {
		b := raw[i*size:]
		v, _ := bin.Uint(b, value, word, f.big)
		section, _ := bin.Uint(b, index, 2, f.big)
		if section == uint64(elf.SHN_XINDEX) {
			section, _ = bin.Uint(xindex, 4*i, 4, f.big)
		}
		if section < uint64(len(f.sections)) {
			v += f.sections[section].addr
		}
		put(b[value:value+word], v, f.big)
		f.symbolValues = append(f.symbolValues, v)
	}
	f.symbolSection = uint32(table)
	return raw
}

// put writes a number over all of b.
func put(b []byte, v uint64, big bool) {
	for i := range b {
		shift := 8 * i
		if big {
			shift = 8 * (len(b) - 1 - i)
		}
		b[i] = byte(v >> shift)
	}
}
