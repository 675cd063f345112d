package elf

import (
	"debug/elf"
	"encoding/binary"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// Linked turns a number that counts from somewhere else into an address of the file's own address space, of a file that is loaded. It fails
// where the headers do not say enough.
func (h *Header) Linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
	switch from {
	case symsrc.InFile:
		return h.fromFile(off)
	case symsrc.InImage:
		return h.fromImage(off)
	case symsrc.InText:
		return h.fromText(off)
	}
	return 0, false
}

// fromFile finds the segment that holds the byte of the file. Where mappings share a page of the file, as lld lays them
// out, what lies in no segment is taken for the padding of one; and code goes before data that lie over it.
func (h *Header) fromFile(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for _, slack := range [...]uint64{0, page} {
		for _, code := range [...]bool{true, false} {
			for i := range h.Segments {
				s := &h.Segments[i]
				if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X != 0 != code {
					continue
				}
				if off >= s.Offset&^slack && off < (s.Offset+s.FileSize+slack)&^slack {
					return off - s.Offset + s.Addr, true
				}
			}
		}
	}
	return 0, false
}

// fromImage adds where the lowest mapping starts.
func (h *Header) fromImage(off uint64) (addr uint64, ok bool) {
	low := ^uint64(0)
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD {
			low, ok = min(low, s.Addr), true
		}
	}
	return low&^(h.pageSize()-1) + off, ok
}

// fromText adds where the executable mapping starts: of several, the first one that is long enough.
func (h *Header) fromText(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		if addr = s.Addr&^page + off; addr < (s.Addr+s.Size+page)&^page {
			return addr, true
		}
	}
	return 0, false
}

// LoadAddress returns the address of the first segment. Segments are in the order of their addresses (gABI, "Program Header").
func (h *Header) LoadAddress() (addr uint64, ok bool) {
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD {
			return s.Addr, true
		}
	}
	return 0, false
}

// Text returns n bytes of machine code at an address, fewer where the code ends before; false where there is none.
func (f *File) Text(addr uint64, n int) ([]byte, bool) {
	if i := f.codeSegment(addr); i >= 0 {
		s := &f.Segments[i]
		return f.piece(s.Offset, s.FileSize, addr-s.Addr, n)
	}
	if f.Type != elf.ET_REL {
		return nil, false
	}
	if s := f.codeSection(addr); s != nil && s.Type != elf.SHT_NOBITS {
		return f.piece(s.Offset, s.Size, addr-s.Addr, n)
	}
	return nil, false
}

// piece returns up to n bytes at a distance from the start of a part of the file.
func (f *File) piece(off, size, at uint64, n int) ([]byte, bool) {
	b, ok := bin.Slice(f.Data, off, size)
	if !ok || n <= 0 || at >= uint64(len(b)) {
		return nil, false
	}
	b = b[at:]
	n = min(n, len(b))
	return b[:n:n], true
}

// TextBefore returns up to n bytes of machine code that end at an address.
func (f *File) TextBefore(addr uint64, n int) []byte {
	tries := 0
	for ; n > 0; n-- {
		tries++
		if b, ok := f.Text(addr-uint64(n), n); ok && len(b) == n {
			f.Budget.Answer(tries * len(f.Segments))
			return b
		}
	}
	f.Budget.Answer(tries * len(f.Segments))
	return nil
}

// codeSegment returns the segment with the code at an address, or −1.
func (h *Header) codeSegment(addr uint64) int {
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr >= s.Addr && addr-s.Addr < s.FileSize {
			return i
		}
	}
	return -1
}

// codeSection returns the section with the code at an address, or nil.
func (h *Header) codeSection(addr uint64) *Section {
	for i := range h.Sections {
		s := &h.Sections[i]
		if s.IsCode() && addr >= s.Addr && addr-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

// IsCode reports whether the section has code that is loaded.
func (s *Section) IsCode() bool {
	return s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_EXECINSTR != 0
}

// IsText reports whether an address is one of code: the target of a call.
func (f *File) IsText(addr uint64) bool { return f.codeSegment(addr) >= 0 }

// HoldsCode reports whether an address is one of code, as far as the file's headers say.
func (h *Header) HoldsCode(addr uint64) bool {
	if len(h.Sections) > 0 {
		return h.codeSection(addr) != nil
	}
	return h.codeSegment(addr) >= 0
}

// Address bits of AArch64: the eight above addressBits[0] may hold a tag (top-byte-ignore), and those above the size of the
// address space, here of the usual two, a pointer authentication code (Arm ARM, D8.9 and D8.10).
var addressBits = [...]uint{56, 48, 39}

// Untagged takes a tag or an authentication code out of an address of AArch64, where only what is left lies in the file.
// Addresses of the kernel have ones where those of programs have zeros.
func (h *Header) Untagged(addr uint64) uint64 {
	if h.Machine != elf.EM_AARCH64 || addr>>addressBits[2] == 0 || h.loads(addr) {
		return addr
	}
	for _, bits := range addressBits {
		high := ^uint64(0) << bits
		for _, plain := range [...]uint64{addr &^ high, addr | high} {
			if h.loads(plain) {
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

// pageSize returns what the starts of mappings are rounded down to: that of the kernels which are in use. Where these differ,
// linkers align segments so that it makes no difference.
func (f *Format) pageSize() uint64 {
	if f.Machine == elf.EM_PPC64 {
		return 64 << 10
	}
	return 4 << 10
}

// Back returns the distance from a return address to a byte of the call before it: to its start where that is known. Thumb
// and RISC-V have calls of two and of four bytes; MIPS and SPARC return after the delay slot.
func (f *Format) Back() uint64 {
	switch f.Machine {
	case elf.EM_AARCH64, elf.EM_PPC, elf.EM_PPC64, elf.EM_LOONGARCH, elf.EM_QDSP6:
		return 4
	case elf.EM_MIPS, elf.EM_SPARC, elf.EM_SPARCV9, elf.EM_SPARC32PLUS:
		return 8
	case elf.EM_ARM, elf.EM_RISCV:
		return 2
	}
	return 1
}

// littleCode reports whether instructions are in little-endian order, whatever the order of the file's data.
func (f *Format) littleCode() bool {
	const armBE8 = 0x00800000 // EF_ARM_BE8
	return !f.Big || f.Machine == elf.EM_AARCH64 || f.Machine == elf.EM_RISCV || f.Machine == elf.EM_ARM && f.Flags&armBE8 != 0
}

// CodeOrder returns the byte order of instructions.
func (f *Format) CodeOrder() binary.ByteOrder {
	if f.littleCode() {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// MachineName returns what Breakpad's dump_syms calls the machine.
func (f *Format) MachineName() string {
	switch f.Machine {
	case elf.EM_386:
		return "x86"
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_MIPS:
		if f.Is64 {
			return "mips64"
		}
		return "mips"
	case elf.EM_PPC:
		return "ppc"
	case elf.EM_PPC64:
		return "ppc64"
	case elf.EM_RISCV:
		if f.Is64 {
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
func (f *Format) Truncate(addr uint64) uint64 {
	if !f.Is64 {
		return uint64(uint32(addr))
	}
	return addr
}
