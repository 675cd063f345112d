package elfdwarf

import "slices"

// likeLLVM makes a file that was not asked yet answer as llvm does.
func (f *File) likeLLVM() {
	f.asLLVM = true
	for _, t := range [...]*symbolTable{f.symtab, f.dynsym} {
		if t != nil {
			t.endless = true
		}
	}
	for _, s := range f.gnuPacked { // llvm reads compressed sections of the newer form only
		f.compressed = slices.DeleteFunc(f.compressed, func(p packedSection) bool { return p.section == s })
		*s = section{}
	}
	f.gnuPacked = nil
	f.setBudgets()
}
