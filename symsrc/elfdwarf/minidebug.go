package elfdwarf

import (
	"debug/elf"
	"sync"
)

// miniDebug is what a stripped file keeps of its symbols: an ELF file with a symbol table and nothing else, packed by xz
// in the section .gnu_debugdata (GDB manual, "MiniDebugInfo"). It holds what the dynamic symbol table lacks.
type miniDebug struct {
	once  sync.Once
	table *symbolTable
}

// symbols unpacks the table when it is first asked for; nil where there is none, or where it is damaged or belongs to
// another file.
func (m *miniDebug) symbols(f *image) *symbolTable {
	m.once.Do(func() {
		for i := range f.sections {
			s := &f.sections[i]
			if s.name != ".gnu_debugdata" {
				continue
			}
			packed, ok := f.contents(s)
			if !ok {
				return
			}
			data, err := unxz(packed, f.budget)
			if err != nil {
				return
			}
			m.table = f.readMini(data)
			return
		}
	})
	return m.table
}

// readMini reads the symbol table of the ELF file in data.
func (f *image) readMini(data []byte) *symbolTable {
	m, err := readImage(data, f.budget, rules{})
	if err != nil || m.machine != f.machine || m.is64 != f.is64 || m.big != f.big || m.id != "" && f.id != "" && m.id != f.id {
		return nil
	}
	t, err := m.symbolTable(elf.SHT_SYMTAB, &nameTable{left: f.budget})
	if err != nil || t == nil {
		return nil
	}
	t.opd = f.descriptors()
	return t
}
