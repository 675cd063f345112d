package object

import (
	"slices"

	"qss-filter/symsrc/budget"
)

// Text returns n bytes of machine code at an address, or fewer if the code ends there. It returns false if there is no code. For a debug
// file, the code is that of the runtime object.
func (f *File) Text(addr uint64, n int) (text []byte, ok bool) {
	f.withRuntime(func(r *File) {
		mapped, found := r.elf.Text(f.codeAddr(addr), n)
		text, ok = slices.Clone(mapped), found // the caller does not recover from faults
	})
	return text, ok
}

// CallEndsAt reports whether a call ends at an address, which is then a return address. On machines with instructions of different
// lengths it may be wrong, because the end of a longer instruction may look like a call.
func (f *File) CallEndsAt(addr uint64) (ends bool) {
	f.withRuntime(func(r *File) { ends = r.code.CallEndsAt(f.codeAddr(addr), addr&1 != 0) })
	return ends
}

// newFile reads the headers of an ELF file in memory.
func newFile(data []byte) (*File, error) {
	return newFileOf(data, false, budget.NewFile(len(data)), &defaultPolicy)
}
