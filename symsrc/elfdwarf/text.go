package elfdwarf

import (
	"debug/elf"
	"qss-filter/symsrc/bin"
	"slices"
)

// Text gives n bytes of machine code at an address, fewer where the code ends before; false where there is none. A debug
// file has no code: it is taken from the runtime object that belongs with it.
func (f *File) Text(addr uint64, n int) (text []byte, ok bool) {
	f.askRuntime(func(r *File) {
		mapped, found := r.text(f.codeAddr(addr), n)
		text, ok = slices.Clone(mapped), found // the caller may not be able to bear a fault
	})
	return text, ok
}

// text is Text for an address of the file's own address space.
func (f *image) text(addr uint64, n int) ([]byte, bool) {
	if i := f.codeSegment(addr); i >= 0 {
		s := &f.segments[i]
		return f.piece(s.off, s.filesz, addr-s.addr, n)
	}
	if f.typ != elf.ET_REL {
		return nil, false
	}
	if s := f.codeSection(addr); s != nil && s.typ != elf.SHT_NOBITS {
		return f.piece(s.off, s.size, addr-s.addr, n)
	}
	return nil, false
}

// piece is up to n bytes at a distance from the start of a part of the file.
func (f *image) piece(off, size, at uint64, n int) ([]byte, bool) {
	b, ok := bin.Slice(f.data, off, size)
	if !ok || n <= 0 || at >= uint64(len(b)) {
		return nil, false
	}
	b = b[at:]
	n = min(n, len(b))
	return b[:n:n], true
}

// textBefore is up to n bytes of machine code that end at an address.
func (f *image) textBefore(addr uint64, n int) []byte {
	tries := 0
	for ; n > 0; n-- {
		tries++
		if b, ok := f.text(addr-uint64(n), n); ok && len(b) == n {
			f.budget.Answer(tries * len(f.segments))
			return b
		}
	}
	f.budget.Answer(tries * len(f.segments))
	return nil
}

// codeSegment is the segment with the code at an address, or −1.
func (h *header) codeSegment(addr uint64) int {
	for i := range h.segments {
		s := &h.segments[i]
		if s.typ == elf.PT_LOAD && s.flags&elf.PF_X != 0 && addr >= s.addr && addr-s.addr < s.filesz {
			return i
		}
	}
	return -1
}

// codeSection is the section with the code at an address, or nil.
func (h *header) codeSection(addr uint64) *sectionHeader {
	for i := range h.sections {
		s := &h.sections[i]
		if s.isCode() && addr >= s.addr && addr-s.addr < s.size {
			return s
		}
	}
	return nil
}

func (s *sectionHeader) isCode() bool {
	return s.flags&elf.SHF_ALLOC != 0 && s.flags&elf.SHF_EXECINSTR != 0
}

// isText reports whether an address is one of code: the target of a call.
func (f *image) isText(addr uint64) bool { return f.codeSegment(addr) >= 0 }
