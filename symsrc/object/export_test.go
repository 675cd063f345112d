package object

import (
	"slices"

	"qss-filter/symsrc/budget"
)

// Text returns n bytes of machine code at an address, fewer where the code ends before; false where there is none. A debug
// file has no code: it is taken from the runtime object that belongs with it.
func (f *File) Text(addr uint64, n int) (text []byte, ok bool) {
	f.withRuntime(func(r *File) {
		mapped, found := r.elf.Text(f.codeAddr(addr), n)
		text, ok = slices.Clone(mapped), found // the caller may not be able to bear a fault
	})
	return text, ok
}

// CallEndsAt reports whether a call ends at an address, which is then a return address. Where instructions differ in length
// it is a likelihood: what looks like a call may be the end of a longer instruction.
func (f *File) CallEndsAt(addr uint64) (ends bool) {
	f.withRuntime(func(r *File) { ends = r.code.CallEndsAt(f.codeAddr(addr), addr&1 != 0) })
	return ends
}

// newFile reads the headers of an ELF file in memory.
func newFile(data []byte) (*File, error) {
	return newFileOf(data, false, budget.NewFile(len(data)), &defaultPolicy)
}
