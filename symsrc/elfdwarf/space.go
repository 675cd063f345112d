package elfdwarf

import (
	"debug/elf"

	"qss-filter/symsrc"
)

// Linked turns a number that counts from somewhere else into an address of the file's own address space. It fails where the
// file's headers do not tell: a relocatable file is not mapped as it is, and in a debug file the places of the runtime
// object's bytes are lost.
func (f *File) Linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
	if from == symsrc.Linked {
		return off, true
	}
	f.guard(func() {
		r := f.runtime()
		if r == nil && from != symsrc.InFile {
			r = f // addresses of segments are kept
		}
		if r != nil {
			addr, ok = r.linked(off, from)
		}
	})
	return addr, ok
}

func (h *header) linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
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
func (h *header) fromFile(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for _, slack := range [...]uint64{0, page} {
		for _, code := range [...]bool{true, false} {
			for i := range h.segments {
				s := &h.segments[i]
				if s.typ != elf.PT_LOAD || s.flags&elf.PF_X != 0 != code {
					continue
				}
				if off >= s.off&^slack && off < (s.off+s.filesz+slack)&^slack {
					return off - s.off + s.addr, true
				}
			}
		}
	}
	return 0, false
}

// fromImage adds where the lowest mapping starts.
func (h *header) fromImage(off uint64) (addr uint64, ok bool) {
	low := ^uint64(0)
	for i := range h.segments {
		if s := &h.segments[i]; s.typ == elf.PT_LOAD {
			low, ok = min(low, s.addr), true
		}
	}
	return low&^(h.pageSize()-1) + off, ok
}

// fromText adds where the executable mapping starts: of several, the first one that is long enough.
func (h *header) fromText(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for i := range h.segments {
		s := &h.segments[i]
		if s.typ != elf.PT_LOAD || s.flags&elf.PF_X == 0 {
			continue
		}
		if addr = s.addr&^page + off; addr < (s.addr+s.size+page)&^page {
			return addr, true
		}
	}
	return 0, false
}
