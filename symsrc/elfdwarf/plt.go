package elfdwarf

import (
	"cmp"
	"debug/elf"
	"slices"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
)

// stub is code of the procedure linkage table: it jumps to the function whose address stands in slot.
type stub struct {
	span
	slot   uint64
	symbol uint32 // of the dynamic symbol table; 0 where none is known
}

// stubTable is the procedure linkage table of a file, read when the first address in one of its sections is asked for.
type stubTable struct {
	once sync.Once
	all  []stub // disjoint, sorted
}

// stubWeight is what a stub takes in memory until its symbol is known, in bytes.
const stubWeight = 100

// maxStubs bounds the stubs of a file; large programs have some ten thousand.
const maxStubs = 1 << 20

// stubSections are the sections with stubs: the usual ones, those that CET and MPX split off, those of functions whose
// slot is resolved at the start, and those of indirect functions.
var stubSections = []string{".plt", ".plt.sec", ".plt.bnd", ".plt.got", ".iplt"}

// inStubs reports whether the address is in such a section.
func (f *code) inStubs(addr uint64) bool {
	f.budget.Answer(len(f.stubSections))
	return slices.ContainsFunc(f.stubSections, func(s *sectionHeader) bool { return addr-s.addr < s.size && addr >= s.addr })
}

// isStubs reports whether a section is one of these.
func isStubs(s *sectionHeader) bool {
	const code = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	return s.flags&code == code && slices.Contains(stubSections, s.name)
}

// allStubs returns the stubs in the order of their addresses.
func (f *code) allStubs() []stub {
	f.stubs.once.Do(f.readStubs)
	return f.stubs.all
}

// stubAt names the stub at an address after the function that it jumps to: `puts@plt`.
func (f *code) stubAt(addr uint64) (c covering, ok bool) {
	stubs := f.allStubs()
	i, found := slices.BinarySearchFunc(stubs, addr, func(s stub, addr uint64) int {
		switch {
		case s.hi <= addr:
			return -1
		case s.lo > addr:
			return 1
		}
		return 0
	})
	if !found {
		return c, false
	}
	s := &stubs[i]
	linkage := string(f.dynsym.nameAt(s.symbol))
	if linkage == "" {
		return c, false
	}
	const suffix = "@plt"
	n := &name{linkage: linkage + suffix, demangled: demangle.Demangle(linkage) + suffix}
	return covering{name: n, start: s.lo, sized: true}, true
}

// nameAt is the name of the symbol of that index.
func (t *symbolTable) nameAt(index uint32) []byte {
	if uint64(index) >= uint64(len(t.raw)/t.entrySize()) {
		return nil
	}
	off, _ := bin.Uint(t.raw, int(index)*t.entrySize(), 4, t.big)
	if b := t.str(uint32(off)); len(b) <= maxName {
		return b
	}
	return nil
}

// readStubs decodes the stubs and joins them with the relocations of their slots. What a slot is for is known by these
// alone: linkers differ in the stubs' order and size.
func (f *code) readStubs() {
	decode := stubDecoders[f.machine]
	if decode == nil || f.dynsym == nil {
		return
	}
	var stubs []stub
	kept := budget.Tally{Of: f.budget}
	read := 0 // bytes, which many sections may share
	for i := range f.sections {
		s := &f.sections[i]
		contents, ok := f.contents(s)
		if read += len(contents); !isStubs(s) || !ok || read > len(f.data) || len(stubs) > maxStubs {
			continue
		}
		first := len(stubs)
		decode(f.image, s, contents, func(off, size int, slot uint64) {
			lo := s.addr + uint64(off)
			if last := len(stubs) - 1; last >= first && stubs[last].hi > lo {
				stubs[last].hi = lo
			}
			kept.Add(1, stubWeight)
			stubs = append(stubs, stub{span: span{lo, lo + uint64(min(size, len(contents)-off))}, slot: slot})
		})
	}
	kept.Flush()
	f.bindStubs(stubs)
	stubs = slices.DeleteFunc(stubs, func(s stub) bool { return s.symbol == 0 || s.hi <= s.lo })
	slices.SortFunc(stubs, func(a, b stub) int { return cmp.Compare(a.lo, b.lo) })
	// Sections that overlap contradict each other.
	for i := 1; i < len(stubs); i++ {
		if stubs[i].lo < stubs[i-1].hi {
			return
		}
	}
	f.stubs.all = stubs
}

// bindStubs finds the symbols whose addresses the dynamic linker puts into the slots.
func (f *code) bindStubs(stubs []stub) {
	if len(stubs) == 0 {
		return
	}
	bySlot := make(map[uint64]uint32, len(stubs)) // to a symbol
	for i := range stubs {
		bySlot[stubs[i].slot] = 0
	}
	read := 0
	for i := range f.sections {
		s := &f.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.typ != elf.SHT_RELA && s.typ != elf.SHT_REL {
			continue
		}
		b, ok := f.contents(s)
		if read += len(b); ok && read <= len(f.data) {
			f.readSlots(b, s.typ == elf.SHT_RELA, bySlot)
		}
	}
	for i := range stubs {
		stubs[i].symbol = bySlot[stubs[i].slot]
	}
}

// slotRelocations are the relocations that put a function's address into a slot, at its first call or at the start.
var slotRelocations = map[elf.Machine][2]uint32{
	elf.EM_X86_64:  {uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT)},
	elf.EM_386:     {uint32(elf.R_386_JMP_SLOT), uint32(elf.R_386_GLOB_DAT)},
	elf.EM_AARCH64: {uint32(elf.R_AARCH64_JUMP_SLOT), uint32(elf.R_AARCH64_GLOB_DAT)},
	elf.EM_ARM:     {uint32(elf.R_ARM_JUMP_SLOT), uint32(elf.R_ARM_GLOB_DAT)},
	elf.EM_RISCV:   {uint32(elf.R_RISCV_JUMP_SLOT), uint32(elf.R_RISCV_JUMP_SLOT)},
	elf.EM_S390:    {uint32(elf.R_390_JMP_SLOT), uint32(elf.R_390_GLOB_DAT)},
}

// readSlots notes the symbols of a relocation section (gABI, "Relocation").
func (f *code) readSlots(b []byte, addends bool, bySlot map[uint64]uint32) {
	word := f.word()
	size := 2 * word
	if addends {
		size += word
	}
	types := slotRelocations[f.machine]
	for ; len(b) >= size; b = b[size:] {
		slot, _ := bin.Uint(b, 0, word, f.big)
		info, _ := bin.Uint(b, word, word, f.big)
		symbol, typ := uint32(info>>32), uint32(info)
		if !f.is64 {
			symbol, typ = uint32(info>>8), uint32(info&0xff)
		}
		if typ != types[0] && typ != types[1] {
			continue
		}
		if _, ok := bySlot[slot]; ok {
			bySlot[slot] = symbol
		}
	}
}
