package dwarf

import (
	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
)

// declaringAttr returns the attribute of a code that says where something is declared (DWARF 5 §2.14); attrNone for others. Few questions
// need them, and most functions have them: they are read by abbreviation tables of their own.
func declaringAttr(code uint64) attr {
	switch code {
	case 0x3a: // DW_AT_decl_file
		return attrDeclFile
	case 0x3b: // DW_AT_decl_line
		return attrDeclLine
	}
	return attrNone
}

// entryOf returns what there is of the function whose entry is at die, −1 for none.
func (u *Unit) entryOf(die int) symsrc.Entry {
	switch {
	case die < 0:
		return symsrc.NoEntry
	case u.isDeclared(die):
		return symsrc.Declared
	}
	return symsrc.Undeclared
}

// isDeclared reports whether the debug information says where the function is declared whose entry is at die.
func (u *Unit) isDeclared(die int) bool {
	w := originWalk{u: u, in: u.f, die: die, declarations: true}
	for w.next() {
		if w.d.number(attrDeclLine) != 0 {
			return true
		}
		if w.d.has(attrDeclFile) && w.u.lineTable().sourceFile(w.d.v[attrDeclFile]).path != "" {
			return true
		}
	}
	return false
}

// maxOrigins bounds a chain of origins and specifications; real ones are three or four long.
const maxOrigins = 16

// originWalk follows the specifications and origins of an entry, which may lead to other units and to the supplementary file.
type originWalk struct {
	in           *Data // where the next entry is
	die          int
	n            int  // entries read
	declarations bool // the position of a declaration is read, too

	u *Unit // of the entry that was read last
	d attributes
}

// next reads an entry, at first the one that the walk begins with.
func (w *originWalk) next() bool {
	if w.n > 0 {
		var ok bool
		if w.in, w.die, ok = w.u.target(&w.d, attrSpecification); !ok {
			w.in, w.die, ok = w.u.target(&w.d, attrOrigin)
		}
		if !ok || w.n >= maxOrigins {
			return false
		}
	}
	w.n++
	if w.in != w.u.f || w.die < w.u.die || w.die >= w.u.end {
		if w.u = w.in.unitOf(w.die); w.u == nil {
			return false
		}
	}
	table := w.u.abbrevs
	if w.declarations {
		key := table.key
		key.declarations = true
		table = w.u.f.abbrevsAt(key)
	}
	b := w.u.bytes()
	code, p := bin.ULEB(b, w.die)
	a, c := table.find(code)
	if a.tag == 0 {
		return false
	}
	end := w.u.readEntry(b, p, c.read(a), &w.d)
	if end >= bin.Past {
		return false
	}
	w.u.f.budget.Answer(end - w.die)
	return true
}

// nameOf returns the number of the name of the function whose entry is at die.
func (u *Unit) nameOf(die int) uint32 {
	u.namesMu.Lock()
	n := u.names[die]
	u.namesMu.Unlock()
	if n != 0 {
		return n
	}
	u.f.budget.Hold(names.Weight)
	n = u.readName(die, false)
	u.namesMu.Lock()
	defer u.namesMu.Unlock()
	if u.names == nil {
		u.names = make(map[int]uint32)
	}
	u.names[die] = n
	return n
}

// readName returns the number of the first linkage name of an entry and its origins, or of the first name where there is none. A
// short name is the first name, also where there is a linkage name.
func (u *Unit) readName(die int, short bool) uint32 {
	var plain []byte
	w := originWalk{u: u, in: u.f, die: die}
	for w.next() {
		if s := w.u.text(&w.d, attrLinkageName); len(s) > 0 && !short {
			return u.f.names.Find(s)
		}
		if plain == nil {
			plain = w.u.text(&w.d, attrName)
		}
	}
	return u.f.names.Find(plain)
}
