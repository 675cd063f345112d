package object

import (
	stdelf "debug/elf"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// Linked turns a number that counts from somewhere else into an address of the file's own address space. It fails where the
// file's headers do not say: a relocatable file is not mapped as it is, and in a debug file the places of the runtime
// object's bytes are lost.
func (f *File) Linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
	if from == symsrc.Linked {
		return off, true
	}
	f.guard(func() {
		r := f.runtimeFile.get()
		if r == nil && from != symsrc.InFile {
			r = f // addresses of segments are kept
		}
		if r != nil {
			addr, ok = r.elf.Linked(off, from)
		}
	})
	return addr, ok
}

// codeAddr returns the address for a look-up of code: without the other bits of a pointer, and in a relocatable file within the section
// of code.
func (f *File) codeAddr(addr uint64) uint64 {
	if !f.policy.literalAddresses {
		addr = f.elf.Untagged(f.elf.Placed(addr, true))
	}
	if f.elf.Machine == stdelf.EM_ARM {
		addr &^= 1 // set for Thumb code
	}
	return addr
}

// dataAddr is codeAddr for variables.
func (f *File) dataAddr(addr uint64) uint64 {
	if f.policy.literalAddresses {
		return addr
	}
	return f.elf.Untagged(f.elf.Placed(addr, false))
}

// Address returns the address of the file's own address space that a question is about. It fails where the file's headers do
// not say, or where no symbol, or more than one, is the named one.
func (f *File) Address(q symsrc.Addr) (addr uint64, ok bool) {
	if q.Symbol == "" {
		return f.Linked(q.Offset, q.Space)
	}
	addr, ok = f.Symbol(q.Symbol, q.Size)
	return addr + q.Offset, ok
}

// Symbol returns the address of a function by its name in the symbol table. size, where it is not 0, is that of the function:
// of several static ones of a name it selects one. It fails where none is of that name and size, or several are.
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
