package elf

import (
	"debug/elf"
	"qss-filter/symsrc/bin"
)

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

// piece is up to n bytes at a distance from the start of a part of the file.
func (f *File) piece(off, size, at uint64, n int) ([]byte, bool) {
	b, ok := bin.Slice(f.Data, off, size)
	if !ok || n <= 0 || at >= uint64(len(b)) {
		return nil, false
	}
	b = b[at:]
	n = min(n, len(b))
	return b[:n:n], true
}

// TextBefore is up to n bytes of machine code that end at an address.
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

// codeSegment is the segment with the code at an address, or −1.
func (h *Header) codeSegment(addr uint64) int {
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr >= s.Addr && addr-s.Addr < s.FileSize {
			return i
		}
	}
	return -1
}

// codeSection is the section with the code at an address, or nil.
func (h *Header) codeSection(addr uint64) *Section {
	for i := range h.Sections {
		s := &h.Sections[i]
		if s.IsCode() && addr >= s.Addr && addr-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

func (s *Section) IsCode() bool {
	return s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_EXECINSTR != 0
}

// IsText reports whether an address is one of code: the target of a call.
func (f *File) IsText(addr uint64) bool { return f.codeSegment(addr) >= 0 }

// HoldsCode reports whether an address is one of code, as far as the file's headers tell.
func (f *Header) HoldsCode(addr uint64) bool {
	if len(f.Sections) > 0 {
		return f.codeSection(addr) != nil
	}
	return f.codeSegment(addr) >= 0
}
