package codeprobe

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// Stub is code of the procedure linkage table: it jumps to the function whose address stands in slot.
type Stub struct {
	elf.Span
	slot   uint64
	symbol uint32 // of the dynamic symbol table; 0 where none is known
}

// stubTable is the procedure linkage table of a file, read when the first address in one of its sections is asked for.
type stubTable struct {
	once sync.Once
	all  []Stub // disjoint, sorted
}

// stubWeight is what a stub takes in memory until its symbol is known, in bytes.
const stubWeight = 100

// maxStubs bounds the stubs of a file; large programs have some ten thousand.
const maxStubs = 1 << 20

// stubSections are the sections with stubs: the usual ones, those that CET and MPX split off, those of functions whose
// slot is resolved at the start, and those of indirect functions.
var stubSections = []string{".plt", ".plt.sec", ".plt.bnd", ".plt.got", ".iplt"}

// InStubs reports whether the address is in such a section.
func (f *Code) InStubs(addr uint64) bool {
	f.elf.Budget.Answer(len(f.stubSections))
	return slices.ContainsFunc(f.stubSections, func(s *elf.Section) bool { return addr-s.Addr < s.Size && addr >= s.Addr })
}

// isStubs reports whether a section is one of these.
func isStubs(s *elf.Section) bool {
	const code = stdelf.SHF_ALLOC | stdelf.SHF_EXECINSTR
	return s.Flags&code == code && slices.Contains(stubSections, s.Name)
}

// Stubs returns the stubs in the order of their addresses.
func (f *Code) Stubs() []Stub {
	f.stubs.once.Do(f.readStubs)
	return f.stubs.all
}

// StubAt names the stub at an address after the function that it jumps to: `puts@plt`.
func (f *Code) StubAt(addr uint64) (c elf.Match, ok bool) {
	stubs := f.Stubs()
	i, found := slices.BinarySearchFunc(stubs, addr, func(s Stub, addr uint64) int {
		switch {
		case s.Hi <= addr:
			return -1
		case s.Lo > addr:
			return 1
		}
		return 0
	})
	if !found {
		return c, false
	}
	s := &stubs[i]
	linkage := string(f.dynsym.NameAt(s.symbol))
	if linkage == "" {
		return c, false
	}
	const suffix = "@plt"
	n := &names.Name{Linkage: linkage + suffix, Demangled: demangle.Demangle(linkage) + suffix}
	return elf.Match{Name: n, Start: s.Lo, Sized: true}, true
}

// readStubs decodes the stubs and joins them with the relocations of their slots. What a slot is for is known by these
// alone: linkers differ in the stubs' order and size.
func (f *Code) readStubs() {
	decode := stubDecoders[f.elf.Machine]
	if decode == nil || f.dynsym == nil {
		return
	}
	var stubs []Stub
	kept := budget.Tally{Of: f.elf.Budget}
	read := 0 // bytes, which many sections may share
	for i := range f.elf.Sections {
		s := &f.elf.Sections[i]
		contents, ok := f.elf.Contents(s)
		if read += len(contents); !isStubs(s) || !ok || read > len(f.elf.Data) || len(stubs) > maxStubs {
			continue
		}
		first := len(stubs)
		decode(f.elf, s, contents, func(off, size int, slot uint64) {
			lo := s.Addr + uint64(off)
			if last := len(stubs) - 1; last >= first && stubs[last].Hi > lo {
				stubs[last].Hi = lo
			}
			kept.Add(1, stubWeight)
			stubs = append(stubs, Stub{Span: elf.Span{Lo: lo, Hi: lo + uint64(min(size, len(contents)-off))}, slot: slot})
		})
	}
	kept.Flush()
	f.bindStubs(stubs)
	stubs = slices.DeleteFunc(stubs, func(s Stub) bool { return s.symbol == 0 || s.Hi <= s.Lo })
	slices.SortFunc(stubs, func(a, b Stub) int { return cmp.Compare(a.Lo, b.Lo) })
	// Sections that overlap contradict each other.
	for i := 1; i < len(stubs); i++ {
		if stubs[i].Lo < stubs[i-1].Hi {
			return
		}
	}
	f.stubs.all = stubs
}

// bindStubs finds the symbols whose addresses the dynamic linker puts into the slots.
func (f *Code) bindStubs(stubs []Stub) {
	if len(stubs) == 0 {
		return
	}
	bySlot := make(map[uint64]uint32, len(stubs)) // to a symbol
	for i := range stubs {
		bySlot[stubs[i].slot] = 0
	}
	read := 0
	for i := range f.elf.Sections {
		s := &f.elf.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Type != stdelf.SHT_RELA && s.Type != stdelf.SHT_REL {
			continue
		}
		b, ok := f.elf.Contents(s)
		if read += len(b); ok && read <= len(f.elf.Data) {
			f.readSlots(b, s.Type == stdelf.SHT_RELA, bySlot)
		}
	}
	for i := range stubs {
		stubs[i].symbol = bySlot[stubs[i].slot]
	}
}

// slotRelocations are the relocations that put a function's address into a slot, at its first call or at the start.
var slotRelocations = map[stdelf.Machine][2]uint32{
	stdelf.EM_X86_64:  {uint32(stdelf.R_X86_64_JMP_SLOT), uint32(stdelf.R_X86_64_GLOB_DAT)},
	stdelf.EM_386:     {uint32(stdelf.R_386_JMP_SLOT), uint32(stdelf.R_386_GLOB_DAT)},
	stdelf.EM_AARCH64: {uint32(stdelf.R_AARCH64_JUMP_SLOT), uint32(stdelf.R_AARCH64_GLOB_DAT)},
	stdelf.EM_ARM:     {uint32(stdelf.R_ARM_JUMP_SLOT), uint32(stdelf.R_ARM_GLOB_DAT)},
	stdelf.EM_RISCV:   {uint32(stdelf.R_RISCV_JUMP_SLOT), uint32(stdelf.R_RISCV_JUMP_SLOT)},
	stdelf.EM_S390:    {uint32(stdelf.R_390_JMP_SLOT), uint32(stdelf.R_390_GLOB_DAT)},
}

// readSlots notes the symbols of a relocation section (gABI, "Relocation").
func (f *Code) readSlots(b []byte, addends bool, bySlot map[uint64]uint32) {
	word := f.elf.WordSize()
	size := 2 * word
	if addends {
		size += word
	}
	types := slotRelocations[f.elf.Machine]
	for ; len(b) >= size; b = b[size:] {
		slot, _ := bin.Uint(b, 0, word, f.elf.Big)
		info, _ := bin.Uint(b, word, word, f.elf.Big)
		symbol, typ := uint32(info>>32), uint32(info)
		if !f.elf.Is64 {
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
