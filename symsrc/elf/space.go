package elf

import (
	"debug/elf"

	"qss-filter/symsrc"
)

// Linked is File.Linked of package object, where this is the file that is loaded.
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

// LoadAddress is the address of the first segment. Segments stand in the order of their addresses (gABI, "Program Header").
func (h *Header) LoadAddress() (addr uint64, ok bool) {
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD {
			return s.Addr, true
		}
	}
	return 0, false
}
