package dwarf

import (
	"qss-filter/symsrc/bin"
)

// entry is a debugging information entry with what it declares.
type entry struct {
	u        *Unit
	die, end int // offsets of the entry and of the position after its attributes
	tag      uint16
	children bool
	d        attributes
}

// declared returns the unit's abbreviations for what entries declare.
func (u *Unit) declared() *abbrevs {
	key := u.abbrevs.key
	key.declarations = true
	return u.f.abbrevsAt(key)
}

// read reads the entry at die with the unit's table of declarations. It returns false at the end of a list of children, whose position
// after is e.end, and for damage, after which e.end is bin.Past.
func (e *entry) read(u *Unit, table *abbrevs, die int) bool {
	b := u.bytes()
	code, p := bin.ULEB(b, die)
	e.u, e.die, e.end, e.tag = u, die, p, 0
	if code == 0 || p == bin.Past {
		return false
	}
	a, c := table.find(code)
	if a.tag == 0 {
		e.end = bin.Past
		return false
	}
	e.tag, e.children = a.tag, a.children
	if e.end = u.readEntry(b, p, c.read(a), &e.d); e.end > len(b) {
		e.end = bin.Past
	}
	return e.end != bin.Past
}

// referred returns the entry that an attribute of e refers to.
func (e *entry) referred(a attr) (to entry, ok bool) {
	f, die, ok := e.u.target(&e.d, a)
	if !ok {
		return to, false
	}
	u := e.u
	if f != u.f || die < u.die || die >= u.end {
		if u = f.unitOf(die); u == nil {
			return to, false
		}
	}
	u.f.budget.Answer(1)
	ok = to.read(u, u.declared(), die)
	return to, ok
}

// walkEntries calls each for the entry at die and, in file order, for its descendants, with their depth below it. It leaves out the
// descendants of an entry for which each returns false. The entry is valid until each returns.
func (u *Unit) walkEntries(die int, each func(e *entry, depth int) bool) {
	table := u.declared()
	var e entry
	depth, skipped := 0, 0 // descendants of skipped depth and more are left out; 0 for none
	for p := die; ; p = e.end {
		if !e.read(u, table, p) {
			if e.end == bin.Past {
				return
			}
			if depth--; depth < skipped {
				skipped = 0
			}
		} else {
			descend := skipped == 0 && each(&e, depth)
			if e.children {
				if depth++; skipped == 0 && !descend {
					skipped = depth
				}
			}
		}
		if depth <= 0 {
			return
		}
	}
}

// Tags of types and variables (DWARF 5 §7.5.3).
const (
	tagArrayType       = 0x01
	tagFormalParameter = 0x05
	tagPointerType     = 0x0f
	tagReferenceType   = 0x10
	tagSubroutineType  = 0x15
	tagTypedef         = 0x16
	tagPtrToMemberType = 0x1f
	tagSubrangeType    = 0x21
	tagVariable        = 0x34
	tagRvalueReference = 0x42
)

// isType reports whether entries of a tag are types, whose descendants are no variables of the program.
func isType(tag uint16) bool {
	switch tag {
	case tagArrayType, 0x02, 0x04, tagPointerType, tagReferenceType, 0x12, 0x13, tagSubroutineType, tagTypedef, 0x17, tagPtrToMemberType, 0x20,
		tagSubrangeType, 0x24, 0x26, 0x29, 0x2b, 0x2d, 0x35, 0x37, 0x38, 0x3b, 0x40, tagRvalueReference, 0x43, 0x44, 0x45, 0x46, 0x47, 0x4b:
		return true
	}
	return false
}

// maxTypes bounds the chain of types of a variable; only damaged files have a longer one.
const maxTypes = 32

// sizeOfType returns the size of the type that an entry is of, in bytes.
func (e *entry) sizeOfType() (size uint64, ok bool) { return e.typeSize(maxTypes) }

func (e *entry) typeSize(left int) (size uint64, ok bool) {
	t, ok := e.referred(attrType)
	if !ok || left == 0 {
		return 0, false
	}
	if size, ok := t.constant(attrByteSize); ok {
		return size, true
	}
	word := uint64(t.u.addrSize)
	switch t.tag {
	case tagPointerType, tagReferenceType, tagRvalueReference:
		return word, true
	case tagPtrToMemberType:
		if to, ok := t.referred(attrType); ok && to.tag == tagSubroutineType {
			word *= 2
		}
		return word, true
	case tagArrayType:
		if size, ok = t.typeSize(left - 1); !ok {
			return 0, false
		}
		return size * t.elements(), true
	}
	return t.typeSize(left - 1)
}

// elements returns the number of elements of an array type.
func (e *entry) elements() uint64 {
	n := uint64(1)
	e.u.walkEntries(e.die, func(c *entry, depth int) bool {
		e.u.f.budget.Answer(1)
		if depth == 1 && c.tag == tagSubrangeType {
			if count, ok := c.constant(attrElements); ok {
				n *= count
			}
			if high, ok := c.constant(attrUpperBound); ok {
				low, _ := c.constant(attrLowerBound)
				n *= high - low + 1
			}
		}
		return depth == 0
	})
	return n
}

// constant returns the value of an attribute of class constant.
func (e *entry) constant(a attr) (v uint64, ok bool) {
	if !e.d.has(a) {
		return 0, false
	}
	switch e.d.form[a] {
	case 0x0b, 0x05, 0x06, 0x07, 0x0d, 0x0f, formImplicitConst: // data1 to data8, sdata, udata
		return e.d.v[a], true
	}
	return 0, false
}

// declaration is where something is declared.
type declaration struct {
	file *sourceFile // noSource if it is unknown
	line int
}

// declarationOf returns the declaration of an entry, or of what it specifies or originates from.
func (u *Unit) declarationOf(die int) declaration {
	at, line, file := declaration{file: &noSource}, false, false
	w := originWalk{u: u, in: u.f, die: die, declarations: true}
	for w.next() && !(line && file) {
		if w.d.has(attrDeclLine) && !line {
			at.line, line = int(uint32(w.d.v[attrDeclLine])), true
		}
		if w.d.has(attrDeclFile) && !file {
			at.file, file = w.u.sourceFile(w.d.v[attrDeclFile]), true
		}
	}
	return at
}
