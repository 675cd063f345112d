package object

import (
	stdelf "debug/elf"
	"maps"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
)

// Linked converts an offset in the given space to an address of the file's own address space. It returns false if the headers do not
// allow it: relocatable files are not mapped, and a debug file does not have the file offsets of the runtime object.
func (f *File) Linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
	if from == symsrc.Linked {
		return off, true
	}
	f.guard(func() {
		r := f.runtimeFile.get()
		if r == nil && from != symsrc.InFile {
			r = f // a debug file has the addresses of the segments
		}
		if r != nil {
			addr, ok = r.elf.Linked(off, from)
		}
	})
	return addr, ok
}

// codeAddr returns the address to look up for code: without pointer tags and the Thumb bit, and in a relocatable file the address in
// its code section.
func (f *File) codeAddr(addr uint64) uint64 {
	if !f.policy.literalAddresses {
		addr = f.elf.Untagged(f.elf.Placed(addr, true))
	}
	if f.elf.Machine == stdelf.EM_ARM {
		addr &^= 1 // bit 0 marks Thumb code
	}
	return addr
}

// dataAddr is codeAddr for data.
func (f *File) dataAddr(addr uint64) uint64 {
	if f.policy.literalAddresses {
		return addr
	}
	return f.elf.Untagged(f.elf.Placed(addr, false))
}

// Address returns the address of a query in the file's own address space. It returns false if the file's headers do not allow the
// conversion, or if no symbol, or more than one, has the name in the query.
func (f *File) Address(q symsrc.Addr) (addr uint64, ok bool) {
	if q.Symbol == "" {
		return f.Linked(q.Offset, q.Space)
	}
	addr, ok = f.Symbol(q.Symbol, q.Size)
	return addr + q.Offset, ok
}

// Symbol returns the address of the function with a name in the symbol table, mangled or not. A size other than 0 selects among several local functions
// with that name. It returns false if there is no such function, or more than one.
func (f *File) Symbol(name string, size uint64) (addr uint64, ok bool) {
	f.elf.Budget.CountQuery()
	if f.objects.macho != nil && strings.HasPrefix(name, dartPrefix) {
		name = name[1:]
	}
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
		if strings.ContainsAny(name, "(:<") {
			addr, ok = f.demangled(name)
		}
	})
	return addr, ok
}

// dartPrefix begins the names that Dart prints, also on Darwin, where they have an underscore less than those of C in a symbol table.
const dartPrefix = "_kDart"

// unspaced returns a name without spaces: demanglers write `> >` or `>>`.
func unspaced(name string) string { return strings.ReplaceAll(name, " ", "") }

// demangled returns the address of the only function with a demangled name. Its parameters must be those that the name has. A name without
// parameters may be that of a function which only a full symbol table has, so it takes one.
func (f *File) demangled(name string) (addr uint64, ok bool) {
	named := map[uint64]bool{}
	for _, fr := range f.withPlainName(demangle.PlainName(name)) {
		named[fr.Offset] = true
	}
	switch {
	case strings.Contains(strings.ReplaceAll(name, "(anonymous namespace)", ""), "("):
		maps.DeleteFunc(named, func(at uint64, _ bool) bool {
			c := f.symbols.at(at)
			return c == nil || unspaced(demangle.LLVM(c.Name.Linkage, false)) != unspaced(name) && c.Name.Demangled != name
		})
	case f.symbols.full() == nil:
		return 0, false
	}
	for addr = range named {
	}
	return addr, len(named) == 1
}
