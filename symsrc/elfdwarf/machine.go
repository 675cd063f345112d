package elfdwarf

import (
	"debug/elf"
	"encoding/binary"
)

// codeAddr is the address that a look-up of code means: without what a pointer holds beside it, and in a relocatable file
// within the section of code.
func (f *File) codeAddr(addr uint64) uint64 {
	if !f.by.asTold {
		addr = f.untagged(f.placed(addr, true))
	}
	if f.machine == elf.EM_ARM {
		addr &^= 1 // it says that the code is Thumb
	}
	return addr
}

// dataAddr is codeAddr for variables.
func (f *File) dataAddr(addr uint64) uint64 {
	if f.by.asTold {
		return addr
	}
	return f.untagged(f.placed(addr, false))
}

// Address bits of AArch64: the eight above addressBits[0] may hold a tag (top-byte-ignore), and those above the size of the
// address space, here of the usual two, a pointer authentication code (Arm ARM, D8.9 and D8.10).
var addressBits = [...]uint{56, 48, 39}

// untagged takes a tag or an authentication code out of an address of AArch64, where only what is left lies in the file.
// Addresses of the kernel have ones where those of programs have zeros.
func (f *header) untagged(addr uint64) uint64 {
	if f.machine != elf.EM_AARCH64 || addr>>addressBits[2] == 0 || f.loads(addr) {
		return addr
	}
	for _, bits := range addressBits {
		high := ^uint64(0) << bits
		for _, plain := range [...]uint64{addr &^ high, addr | high} {
			if f.loads(plain) {
				return plain
			}
		}
	}
	return addr
}

// loads reports whether an address lies in what is loaded of the file.
func (h *header) loads(addr uint64) bool {
	for i := range h.segments {
		if s := &h.segments[i]; s.typ == elf.PT_LOAD && addr >= s.addr && addr-s.addr < s.size {
			return true
		}
	}
	return false
}

// pageSize is what the starts of mappings are rounded down to: that of the kernels which are in use. Where these differ,
// linkers align segments so that it makes no difference.
func (h *format) pageSize() uint64 {
	if h.machine == elf.EM_PPC64 {
		return 64 << 10
	}
	return 4 << 10
}

// back is the distance from a return address to a byte of the call before it: to its start where that is known. Thumb
// and RISC-V have calls of two and of four bytes; MIPS and SPARC return behind the delay slot.
func (h *format) back() uint64 {
	switch h.machine {
	case elf.EM_AARCH64, elf.EM_PPC, elf.EM_PPC64, elf.EM_LOONGARCH, elf.EM_QDSP6:
		return 4
	case elf.EM_MIPS, elf.EM_SPARC, elf.EM_SPARCV9, elf.EM_SPARC32PLUS:
		return 8
	case elf.EM_ARM, elf.EM_RISCV:
		return 2
	}
	return 1
}

// littleCode tells the files with instructions in little-endian order, whatever the order of their data.
func (h *format) littleCode() bool {
	const armBE8 = 0x00800000 // EF_ARM_BE8
	return !h.big || h.machine == elf.EM_AARCH64 || h.machine == elf.EM_RISCV || h.machine == elf.EM_ARM && h.flags&armBE8 != 0
}

// order is the byte order of instructions.
func (h *format) order() binary.ByteOrder {
	if h.littleCode() {
		return binary.LittleEndian
	}
	return binary.BigEndian
}
