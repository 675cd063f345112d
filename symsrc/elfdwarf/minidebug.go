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

// miniSymbols unpacks the table when it is first asked for; nil where there is none, or where it is damaged or belongs to
// another file.
func (f *File) miniSymbols() *symbolTable {
	f.mini.once.Do(func() {
		for i := range f.sections {
			s := &f.sections[i]
			if s.name != ".gnu_debugdata" {
				continue
			}
			packed, ok := f.contents(f.data, s)
			if !ok {
				return
			}
			data, err := unxz(packed, f.budget)
			if err != nil {
				return
			}
			f.mini.table = f.readMini(data)
			return
		}
	})
	return f.mini.table
}

// readMini reads the symbol table of the ELF file in data.
func (f *File) readMini(data []byte) *symbolTable {
	h, err := readHeader(data, f.budget)
	if err != nil || h.machine != f.machine || h.is64 != f.is64 || h.big != f.big {
		return nil
	}
	m := &File{header: *h, data: data, budget: f.budget}
	m.names.left = f.budget
	if id := string(h.buildID(data)); id != "" && f.id != "" && id != string(f.id) {
		return nil
	}
	t, err := m.symbolTable(elf.SHT_SYMTAB)
	if err != nil || t == nil {
		return nil
	}
	t.opd = f.descriptors()
	return t
}
