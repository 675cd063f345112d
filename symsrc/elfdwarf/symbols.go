package elfdwarf

// symbolTables are the tables of a file, with the names in them and in the debug information.
type symbolTables struct {
	symtab, dynsym *symbolTable
	mini           miniDebug
	names          nameTable
}

// symtabOrOther returns the full symbol table of this file, or of the one that belongs with it; nil where neither has one.
func (f *File) symtabOrOther() *symbolTable {
	if f.symtab == nil && f.other != nil {
		return f.other.symtab
	}
	return f.symtab
}

// miniSymbols returns the table of MiniDebugInfo; nil where there is none.
func (f *File) miniSymbols() *symbolTable { return f.mini.symbols(f.image) }

// symbolAt names an address by the fullest symbol table of this file and the one that belongs with it. Where that is
// only the dynamic one, MiniDebugInfo tells the rest. A symbol without a size covers what is up to the next one of its
// section, which is a guess: whatever knows better comes before it.
func (f *File) symbolAt(addr uint64) (c covering, ok bool) {
	other := f.other
	if other == nil {
		other = f
	}
	full := false
	for i, t := range [...]*symbolTable{f.symtab, other.symtab, f.dynsym, other.dynsym} {
		if t != nil {
			c, ok = t.at(addr)
			full = i < 2
			break
		}
	}
	if ok && c.sized || f.by.symbolsOnly {
		return c, ok
	}
	if !full {
		c, ok = f.miniAt(other, addr, c, ok)
	}
	if ok && c.sized {
		return c, ok
	}
	for _, x := range [...]*File{f, other} {
		if !x.code.inStubs(addr) {
			continue
		}
		if r := x.runtime(); r != nil {
			if stub, found := r.code.stubAt(addr); found {
				return stub, true
			}
		}
	}
	return c, ok
}

// miniAt asks MiniDebugInfo beside what is known of the address already.
func (f *File) miniAt(other *File, addr uint64, known covering, ok bool) (covering, bool) {
	for _, x := range [...]*File{f, other} {
		t := x.miniSymbols()
		if t == nil {
			continue
		}
		if c, found := t.at(addr); found && (!ok || c.sized || c.start > known.start) {
			return c, true
		}
		break
	}
	return known, ok
}
