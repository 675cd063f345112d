package elfdwarf

import (
	"bytes"
	"debug/elf"

	"qss-filter/symsrc"
)

// Address gives the address of the file's own address space that a question is about. It fails where the file's headers do
// not tell, or where no symbol, or more than one, is the named one.
func (f *File) Address(q symsrc.Addr) (addr uint64, ok bool) {
	if q.Symbol == "" {
		return f.Linked(q.Offset, q.Space)
	}
	addr, ok = f.Symbol(q.Symbol, q.Size)
	return addr + q.Offset, ok
}

// Symbol gives the address of a function by its name in the symbol table. size, where it is not 0, is that of the function:
// of several static ones of a name it tells which. It fails where none is of that name and size, or several are.
func (f *File) Symbol(name string, size uint64) (addr uint64, ok bool) {
	f.guard(func() {
		for _, file := range [...]*File{f, f.other} {
			if file == nil {
				continue
			}
			for _, t := range [...]*symbolTable{file.symtab, file.dynsym} {
				if t == nil {
					continue
				}
				var unique bool
				if addr, unique, ok = t.named(name, size); ok {
					ok = unique
					return
				}
			}
		}
	})
	return addr, ok
}

// named looks for a function. unique is false where there are several at different addresses.
func (t *symbolTable) named(name string, size uint64) (addr uint64, unique, found bool) {
	size64 := uint64(t.entrySize())
	want := append([]byte(name), 0)
	var s symbol
	for b := t.raw; uint64(len(b)) >= size64; b = b[size64:] {
		section := t.entry(b, &s)
		if section == 0 || uint64(s.name) >= uint64(len(t.names)) || !bytes.HasPrefix(t.names[s.name:], want) {
			continue
		}
		at, info := t.entryAddr(b)
		switch elf.SymType(info & 15) {
		case elf.STT_FUNC, elf.STT_NOTYPE, elf.STT_GNU_IFUNC:
		default:
			continue
		}
		if size != 0 && s.size != size {
			continue
		}
		if t.opd != nil {
			at = t.opd.code(at)
		}
		if t.machine == elf.EM_ARM {
			at &^= 1
		}
		if found && at != addr {
			return addr, false, true
		}
		addr, unique, found = at, true, true
	}
	return addr, unique, found
}
