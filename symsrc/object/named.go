package object

import (
	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// Address returns the address of the file's own address space that a question is about. It fails where the file's headers do
// not tell, or where no symbol, or more than one, is the named one.
func (f *File) Address(q symsrc.Addr) (addr uint64, ok bool) {
	if q.Symbol == "" {
		return f.Linked(q.Offset, q.Space)
	}
	addr, ok = f.Symbol(q.Symbol, q.Size)
	return addr + q.Offset, ok
}

// Symbol returns the address of a function by its name in the symbol table. size, where it is not 0, is that of the function:
// of several static ones of a name it tells which. It fails where none is of that name and size, or several are.
func (f *File) Symbol(name string, size uint64) (addr uint64, ok bool) {
	f.elf.Budget.Question()
	f.guard(func() {
		for _, file := range [...]*File{f, f.other} {
			if file == nil {
				continue
			}
			for _, t := range [...]*elf.SymbolTable{file.symtab, file.dynsym} {
				if t == nil {
					continue
				}
				var unique bool
				if addr, unique, ok = t.Function(name, size); ok {
					ok = unique
					return
				}
			}
		}
	})
	return addr, ok
}
