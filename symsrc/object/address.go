package object

import (
	"debug/elf"
	"slices"

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
			addr, ok = r.elf.Linked(off, from)
		}
	})
	return addr, ok
}

// codeAddr is the address that a look-up of code means: without what a pointer holds beside it, and in a relocatable file
// within the section of code.
func (f *File) codeAddr(addr uint64) uint64 {
	if !f.by.asTold {
		addr = f.elf.Untagged(f.elf.Placed(addr, true))
	}
	if f.elf.Machine == elf.EM_ARM {
		addr &^= 1 // it says that the code is Thumb
	}
	return addr
}

// dataAddr is codeAddr for variables.
func (f *File) dataAddr(addr uint64) uint64 {
	if f.by.asTold {
		return addr
	}
	return f.elf.Untagged(f.elf.Placed(addr, false))
}

// Text gives n bytes of machine code at an address, fewer where the code ends before; false where there is none. A debug
// file has no code: it is taken from the runtime object that belongs with it.
func (f *File) Text(addr uint64, n int) (text []byte, ok bool) {
	f.askRuntime(func(r *File) {
		mapped, found := r.elf.Text(f.codeAddr(addr), n)
		text, ok = slices.Clone(mapped), found // the caller may not be able to bear a fault
	})
	return text, ok
}
