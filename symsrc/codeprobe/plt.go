package codeprobe

import (
	"bytes"
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// Stub is code of the procedure linkage table: it jumps to the function whose address is in slot.
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

// nameOf returns the name of the function that a stub jumps to.
func (f *Code) nameOf(s *Stub) string { return string(f.dynsym.NameAt(s.symbol)) }

// stub returns the stub at an address, or nil.
func (f *Code) stub(addr uint64) *Stub {
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
		return nil
	}
	return &stubs[i]
}

// StubAt names the stub at an address after the function that it jumps to: `puts@plt`. It returns nil if there is none.
func (f *Code) StubAt(addr uint64) *elf.Match {
	s := f.stub(addr)
	if s == nil {
		return nil
	}
	linkage := f.nameOf(s)
	if linkage == "" {
		return nil
	}
	const suffix = "@plt"
	n := &names.Name{Linkage: linkage + suffix, Demangled: demangle.Demangle(linkage) + suffix}
	return &elf.Match{Name: n, Start: s.Lo, Sized: true, Function: true}
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
	f.bind(bySlot)
	for i := range stubs {
		stubs[i].symbol = bySlot[stubs[i].slot]
	}
}

// bind finds the symbols of slots.
func (f *Code) bind(bySlot map[uint64]uint32) {
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

// stubFound takes a stub at an offset in its section: at most size bytes, and the address of the slot it jumps through.
type stubFound func(off, size int, slot uint64)

// stubDecoders find the stubs in the code of a section, in order.
var stubDecoders = map[stdelf.Machine]func(f *elf.File, s *elf.Section, code []byte, found stubFound){
	stdelf.EM_X86_64:  stubsX86,
	stdelf.EM_386:     stubsX86,
	stdelf.EM_AARCH64: stubsAArch64,
	stdelf.EM_ARM:     stubsARM,
	stdelf.EM_RISCV:   stubsRISCV,
	stdelf.EM_S390:    stubsS390,
}

// stubsX86 reads `[endbr] [bnd] jmp *slot`: relative to the instruction pointer in 64-bit code, absolute or relative to
// the global offset table in 32-bit code. In .plt.got stubs may have 8 bytes.
func stubsX86(f *elf.File, s *elf.Section, code []byte, found stubFound) {
	const size = 16
	step := size
	if s.Name == ".plt.got" {
		step = 8
	}
	got := uint64(0)
	for i := range f.Sections {
		if x := &f.Sections[i]; x.Name == ".got.plt" || x.Name == ".got" && got == 0 {
			got = x.Addr
		}
	}
	for off := 0; off+8 <= len(code); off += step {
		b := code[off:]
		b = bytes.TrimPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
		b = bytes.TrimPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfb}) // endbr32
		b = bytes.TrimPrefix(b, []byte{0xf2})                   // bnd
		if len(b) < 6 || b[0] != 0xff || b[1] != 0x25 && (b[1] != 0xa3 || f.Machine != stdelf.EM_386) {
			continue
		}
		slot := uint64(int64(int32(binary.LittleEndian.Uint32(b[2:]))))
		switch {
		case f.Machine == stdelf.EM_X86_64:
			slot += s.Addr + uint64(len(code)-len(b)+6)
		case b[1] == 0xa3: // jmp *disp(%ebx)
			slot += got
		}
		if !f.Is64 {
			slot = uint64(uint32(slot))
		}
		found(off, size, slot)
	}
}

// stubsAArch64 reads `[bti c] adrp x16, page; ldr x17, [x16, #off]; …`. The first stub, which calls the dynamic linker,
// has the same form; its slot has no relocation. Code is little-endian in files of both orders.
func stubsAArch64(_ *elf.File, s *elf.Section, code []byte, found stubFound) {
	const size, btiC = 32, 0xd503245f
	for off := 0; off+8 <= len(code); off += 4 {
		adrp, ldr := binary.LittleEndian.Uint32(code[off:]), binary.LittleEndian.Uint32(code[off+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		pages := int64(int32(adrp<<8)>>13)<<2 | int64(adrp>>29&3) // immhi has 19 bits, immlo 2
		slot := (s.Addr+uint64(off))&^0xfff + uint64(pages<<12) + uint64(ldr>>10&0xfff)*8
		start := off
		if off >= 4 && binary.LittleEndian.Uint32(code[off-4:]) == btiC {
			start -= 4
		}
		found(start, size, slot)
	}
}

// stubsARM reads `add ip, pc, #a; add ip, ip, #b; …; ldr pc, [ip, #c]!`, before which Thumb code may switch to ARM.
func stubsARM(f *elf.File, s *elf.Section, code []byte, found stubFound) {
	const size = 24
	if f.Big {
		return // code may be of either order
	}
	word := func(off int) uint32 {
		if off < 0 || off+4 > len(code) {
			return 0
		}
		return binary.LittleEndian.Uint32(code[off:])
	}
	immediate := func(insn uint32) uint64 { return uint64(bits.RotateLeft32(insn&0xff, -int(insn>>8&15)*2)) }
	for off := 0; off < len(code); off += 4 {
		insn := word(off)
		if insn&^0xfff != 0xe28fc000 { // add ip, pc, #a
			continue
		}
		slot := s.Addr + uint64(off) + 8 + immediate(insn)
		next := off + 4
		for ; next < off+12 && word(next)&^0xfff == 0xe28cc000; next += 4 { // add ip, ip, #b
			slot += immediate(word(next))
		}
		insn = word(next)
		if insn&^0xfff != 0xe5bcf000 { // ldr pc, [ip, #c]!
			continue
		}
		start := off
		if w := word(off - 4); w == 0x46c04778 || w == 0xe7fd4778 { // bx pc; nop or a branch back
			start -= 4
		}
		found(start, size, uint64(uint32(slot+uint64(insn&0xfff))))
	}
}

// stubsRISCV reads `auipc t3, hi; l[wd] t3, lo(t3); jalr t1, t3; nop`.
func stubsRISCV(f *elf.File, s *elf.Section, code []byte, found stubFound) {
	const size = 16
	load := uint32(0x000e2e03) // lw t3, 0(t3)
	if f.Is64 {
		load = 0x000e3e03 // ld
	}
	for off := 0; off+8 <= len(code); off += 4 {
		hi, lo := binary.LittleEndian.Uint32(code[off:]), binary.LittleEndian.Uint32(code[off+4:])
		if hi&0xfff != 0xe17 || lo&0xfffff != load {
			continue
		}
		slot := s.Addr + uint64(off) + uint64(int64(int32(hi&^0xfff))) + uint64(int64(int32(lo)>>20))
		if !f.Is64 {
			slot = uint64(uint32(slot))
		}
		found(off, size, slot)
	}
}

// stubsS390 reads `larl %r1, slot; lg %r1, 0(%r1); br %r1; …`.
func stubsS390(f *elf.File, s *elf.Section, code []byte, found stubFound) {
	const size = 32
	load := []byte{0xe3, 0x10, 0x10, 0x00, 0x00, 0x04, 0x07, 0xf1}
	for off := 0; f.Is64 && off+14 <= len(code); off += size {
		b := code[off:]
		if b[0] == 0xc0 && b[1] == 0x10 && bytes.HasPrefix(b[6:], load) {
			halves := int64(int32(binary.BigEndian.Uint32(b[2:])))
			found(off, size, s.Addr+uint64(off)+uint64(2*halves))
		}
	}
}
