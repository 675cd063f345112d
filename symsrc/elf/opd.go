package elf

import (
	"debug/elf"
	"qss-filter/symsrc/bin"
	"slices"
	"sync"
)

// descriptors is the section .opd of the first PowerPC 64-bit ABI (§3.2.4, "Function Descriptors"): the symbol of a function
// leads to its descriptor, of which the first word is the address of the code. It is read when first asked for: a debug
// file has it only in the runtime object.
type descriptors struct {
	f    *File
	once sync.Once
	addr uint64
	data []byte
}

const opdSection = ".opd"

// descriptors are those of the file; nil where its symbols are addresses of code.
func (f *File) descriptors() *descriptors {
	if f.Machine != elf.EM_PPC64 || !f.Is64 || !f.Big {
		return nil
	}
	for i := range f.Sections {
		if f.Sections[i].Name == opdSection && f.Sections[i].Size > 0 {
			return &descriptors{f: f}
		}
	}
	return nil
}

// code is the address of the function of a descriptor; any other address is what it is.
func (d *descriptors) code(addr uint64) uint64 {
	d.once.Do(d.read)
	if at := addr - d.addr; addr >= d.addr && at < uint64(len(d.data)) && uint64(len(d.data))-at >= 8 {
		addr, _ = bin.Uint(d.data, int(at), 8, true)
	}
	return addr
}

// lost reports whether there are descriptors whose contents are not known: then nobody knows where functions begin.
func (d *descriptors) lost() bool { return d != nil && d.data == nil }

// read finds the descriptors' contents.
func (d *descriptors) read() {
	r := d.f.Runtime()
	if r == nil {
		return
	}
	for i := range r.Sections {
		s := &r.Sections[i]
		if s.Name != opdSection || s.Type == elf.SHT_NOBITS {
			continue
		}
		b, ok := r.Contents(s)
		addr := s.Addr
		if r.Starts != nil { // llvm reads them as they are
			addr = r.Unplaced(Span{Lo: addr}).Lo
		} else if ok && r.Type == elf.ET_REL {
			b, ok = r.relocated(i, b)
		}
		if ok {
			d.addr, d.data = addr, b
		}
		return
	}
}

// relocated is the contents b of a section of a relocatable file after relocation.
func (f *File) relocated(section int, b []byte) ([]byte, bool) {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type != elf.SHT_RELA || s.Info != uint32(section) || s.Link != f.symbolSection {
			continue
		}
		entries, ok := f.Contents(s)
		f.Budget.Spend(len(b) + len(entries))
		if b = slices.Clone(b); !ok || !f.relocateSection(b, entries, true) {
			return nil, false
		}
	}
	return b, true
}
