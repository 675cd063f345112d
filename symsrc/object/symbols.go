package object

import (
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
	"sync"
)

// symbolTables are the tables of a file, with the names in them and in the debug information.
type symbolTables struct {
	symtab, dynsym *elf.SymbolTable
	mini           miniDebug
	names          names.Table
}

// symtabOrOther returns the full symbol table of this file, or of the one that belongs with it; nil where neither has one.
func (f *File) symtabOrOther() *elf.SymbolTable {
	if f.symtab == nil && f.other != nil {
		return f.other.symtab
	}
	return f.symtab
}

// miniSymbols returns the table of MiniDebugInfo; nil where there is none.
func (f *File) miniSymbols() *elf.SymbolTable {
	f.mini.once.Do(func() { f.mini.table = f.elf.MiniSymbols() })
	return f.mini.table
}

// miniDebug is the symbol table of MiniDebugInfo, unpacked when it is first asked for.
type miniDebug struct {
	once  sync.Once
	table *elf.SymbolTable
}

// symbolAt names an address by the fullest symbol table of this file and the one that belongs with it. Where that is
// only the dynamic one, MiniDebugInfo tells the rest. A symbol without a size covers what is up to the next one of its
// section, which is a guess: whatever knows better comes before it.
func (f *File) symbolAt(addr uint64) (c elf.Match, ok bool) {
	other := f.other
	if other == nil {
		other = f
	}
	full := false
	for i, t := range [...]*elf.SymbolTable{f.symtab, other.symtab, f.dynsym, other.dynsym} {
		if t != nil {
			c, ok = t.At(addr)
			full = i < 2
			break
		}
	}
	if ok && c.Sized || f.by.symbolsOnly {
		return c, ok
	}
	if !full {
		c, ok = f.miniAt(other, addr, c, ok)
	}
	if ok && c.Sized {
		return c, ok
	}
	for _, x := range [...]*File{f, other} {
		if !x.code.InStubs(addr) {
			continue
		}
		if r := x.runtime(); r != nil {
			if stub, found := r.code.StubAt(addr); found {
				return stub, true
			}
		}
	}
	return c, ok
}

// miniAt asks MiniDebugInfo beside what is known of the address already.
func (f *File) miniAt(other *File, addr uint64, known elf.Match, ok bool) (elf.Match, bool) {
	for _, x := range [...]*File{f, other} {
		t := x.miniSymbols()
		if t == nil {
			continue
		}
		if c, found := t.At(addr); found && (!ok || c.Sized || c.Start > known.Start) {
			return c, true
		}
		break
	}
	return known, ok
}
