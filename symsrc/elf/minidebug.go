package elf

import (
	"debug/elf"
	"qss-filter/symsrc/names"
)

// MiniSymbols unpacks the symbol table that a stripped file keeps: an ELF file with a symbol table and nothing else, packed by xz in the
// section .gnu_debugdata (GDB manual, "MiniDebugInfo"). It holds what the dynamic symbol table lacks. It is nil where there is none,
// or where it is damaged or belongs to another file.
func (f *File) MiniSymbols() *SymbolTable {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name != ".gnu_debugdata" {
			continue
		}
		packed, ok := f.Contents(s)
		if !ok {
			return nil
		}
		data, err := unxz(packed, f.Budget)
		if err != nil {
			return nil
		}
		return f.readMini(data)
	}
	return nil
}

// readMini reads the symbol table of the ELF file in data.
func (f *File) readMini(data []byte) *SymbolTable {
	m, err := New(data, f.Budget, Rules{})
	if err != nil || m.Machine != f.Machine || m.Is64 != f.Is64 || m.Big != f.Big || m.ID != "" && f.ID != "" && m.ID != f.ID {
		return nil
	}
	t, err := m.SymbolTable(elf.SHT_SYMTAB, &names.Table{Budget: f.Budget})
	if err != nil || t == nil {
		return nil
	}
	t.opd = f.descriptors()
	return t
}
