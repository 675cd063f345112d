package elf

import (
	"debug/elf"
	"encoding/binary"
)

// Address bits of AArch64: the eight above addressBits[0] may hold a tag (top-byte-ignore), and those above the size of the
// address space, here of the usual two, a pointer authentication code (Arm ARM, D8.9 and D8.10).
var addressBits = [...]uint{56, 48, 39}

// Untagged takes a tag or an authentication code out of an address of AArch64, where only what is left lies in the file.
// Addresses of the kernel have ones where those of programs have zeros.
func (f *Header) Untagged(addr uint64) uint64 {
	if f.Machine != elf.EM_AARCH64 || addr>>addressBits[2] == 0 || f.loads(addr) {
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
func (h *Header) loads(addr uint64) bool {
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD && addr >= s.Addr && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}

// pageSize is what the starts of mappings are rounded down to: that of the kernels which are in use. Where these differ,
// linkers align segments so that it makes no difference.
func (h *Format) pageSize() uint64 {
	if h.Machine == elf.EM_PPC64 {
		return 64 << 10
	}
	return 4 << 10
}

// Back is the distance from a return address to a byte of the call before it: to its start where that is known. Thumb
// and RISC-V have calls of two and of four bytes; MIPS and SPARC return behind the delay slot.
func (h *Format) Back() uint64 {
	switch h.Machine {
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
func (h *Format) littleCode() bool {
	const armBE8 = 0x00800000 // EF_ARM_BE8
	return !h.Big || h.Machine == elf.EM_AARCH64 || h.Machine == elf.EM_RISCV || h.Machine == elf.EM_ARM && h.Flags&armBE8 != 0
}

// CodeOrder is the byte order of instructions.
func (h *Format) CodeOrder() binary.ByteOrder {
	if h.littleCode() {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// MachineName is what Breakpad's dump_syms calls the machine.
func (h *Format) MachineName() string {
	switch h.Machine {
	case elf.EM_386:
		return "x86"
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_MIPS:
		if h.Is64 {
			return "mips64"
		}
		return "mips"
	case elf.EM_PPC:
		return "ppc"
	case elf.EM_PPC64:
		return "ppc64"
	case elf.EM_RISCV:
		if h.Is64 {
			return "riscv64"
		}
		return "riscv"
	case elf.EM_S390:
		return "s390"
	case elf.EM_SPARC:
		return "sparc"
	case elf.EM_SPARCV9:
		return "sparcv9"
	}
	return "unknown"
}

// Truncate returns an address of as many bits as the file's addresses have.
func (h *Format) Truncate(addr uint64) uint64 {
	if !h.Is64 {
		return uint64(uint32(addr))
	}
	return addr
}
