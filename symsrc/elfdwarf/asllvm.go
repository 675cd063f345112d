package elfdwarf

import (
	"debug/elf"
	"slices"
)

// likeLLVM makes a file that was not asked yet answer as llvm does, which takes code at address 0 for what it says, be it dropped
// by the linker, and in a relocatable file, where all sections begin there, takes them for each other. But lines it knows by
// their section.
func (f *File) likeLLVM() {
	f.asLLVM, f.zeroCode = true, true
	for i := range f.sections {
		if s := &f.sections[i]; f.typ == elf.ET_REL && s.addr >= firstPlaced && s.flags&elf.SHF_ALLOC != 0 {
			f.starts = append(f.starts, s.addr)
		}
	}
	if f.arangesInFile != nil {
		f.arangeSets.plain(f.arangesInFile)
	}
	for _, t := range [...]*symbolTable{f.symtab, f.dynsym} {
		if t != nil {
			t.raw, t.endless = t.inFile, true
		}
	}
	for _, s := range f.gnuPacked { // llvm reads compressed sections of the newer form only
		f.compressed = slices.DeleteFunc(f.compressed, func(p packedSection) bool { return p.section == s })
		*s = section{}
	}
	f.gnuPacked = nil
}

// unplaced counts addresses that were placed in sections from these on.
func (f *File) unplaced(s span) span {
	if f.starts == nil || s.lo < firstPlaced {
		return s
	}
	i, found := slices.BinarySearch(f.starts, s.lo)
	if !found {
		i--
	}
	return span{s.lo - f.starts[i], s.hi - f.starts[i]}
}

// lineAddr is the address in line tables.
func (f *File) lineAddr(addr uint64) uint64 {
	if f.asLLVM {
		return f.placed(addr, true)
	}
	return addr
}

// piled reports whether functions may lie over each other in the unit, as far as that is to be seen in llvm's way. low is set
// where one begins where linkers put what they drop.
func (u *unit) piled(low bool) bool {
	return u.f.asLLVM && (low || u.skeleton().f.typ == elf.ET_REL)
}
