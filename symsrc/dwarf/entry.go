package dwarf

import (
	"encoding/binary"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
)

// attributes holds the attributes of a debugging information entry that are used. The values are those in the file: the meaning
// of an index or an offset may depend on a later attribute.
type attributes struct {
	set  uint64 // a bit for each attr that is present
	form [attrCount]uint16
	v    [attrCount]uint64
}

func (d *attributes) has(a attr) bool { return d.set&(1<<a) != 0 }

// number returns the value of a constant attribute, or 0 if it is missing.
func (d *attributes) number(a attr) uint64 {
	if !d.has(a) {
		return 0
	}
	return d.v[a]
}

// readEntry reads the attributes at p with the operations of a declaration. It returns the position after them.
func (u *unitRoot) readEntry(b []byte, p int, ops []op, d *attributes) int {
	d.set = 0
	for i := range ops {
		o := &ops[i]
		switch {
		case o.kind == opFixed:
			p += int(o.n)
		case o.kind == opImplicit:
			d.v[o.attr], d.form[o.attr] = uint64(int32(o.n)), o.form
			d.set |= 1 << o.attr
		case o.kind != opWanted:
			p = skipForm(b, p, o.kind, o.n, u.layout)
		case o.n != 0:
			if q := p + int(o.n); !u.big && uint(p) <= uint(len(b)-8) && len(b) >= 8 {
				d.v[o.attr], p = binary.LittleEndian.Uint64(b[p:])&(^uint64(0)>>(64-8*o.n)), q
			} else {
				d.v[o.attr], p = bin.Uint(b, p, int(o.n), u.big)
			}
			d.form[o.attr] = o.form
			d.set |= 1 << o.attr
		default:
			var form uint64
			d.v[o.attr], form, p = readForm(b, p, uint64(o.form), u.layout)
			d.form[o.attr] = uint16(form)
			d.set |= 1 << o.attr
		}
	}
	return p
}

// skipEntry returns the position after the attributes of an entry, which begin at p.
func (u *unitRoot) skipEntry(b []byte, p int, d *decl, c *compiled) int {
	if d.size >= 0 {
		return p + int(d.size)
	}
	skip := c.skip(d)
	for i := range skip {
		if o := &skip[i]; o.kind == opFixed {
			p += int(o.n)
		} else {
			p = skipForm(b, p, o.kind, o.n, u.layout)
		}
	}
	return p
}

// reference returns the offset in .debug_info of the entry that an attribute refers to. It returns false if the attribute is
// missing or refers to another file.
func (u *unitRoot) reference(d *attributes, a attr) (int, bool) {
	if !d.has(a) {
		return 0, false
	}
	v := d.v[a]
	switch form := d.form[a]; {
	case form >= formRef1 && form <= formRefUdata:
		if v >= uint64(u.end-u.off) {
			return 0, false
		}
		return u.off + int(v), true
	case form == formRefAddr:
		if v >= uint64(u.f.Info.Size) {
			return 0, false
		}
		return int(v), true
	}
	return 0, false
}

// target returns the file and the offset of the entry that an attribute refers to, in this file or in the supplementary one.
func (u *unitRoot) target(d *attributes, a attr) (*Data, int, bool) {
	if off, ok := u.reference(d, a); ok {
		return u.f, off, true
	}
	if d.has(a) {
		switch d.form[a] {
		case formRefSup4, formRefSup8, formGNURefAlt:
			if s := u.f.sup.open(); s != nil && d.v[a] < uint64(s.Info.Size) {
				return s, int(d.v[a]), true
			}
		}
	}
	return nil, 0, false
}

// text returns the value of a string attribute, or nil if it is missing.
func (u *unitRoot) text(d *attributes, a attr) []byte {
	if !d.has(a) {
		return nil
	}
	if d.form[a] == formString {
		return u.f.Info.CString(d.v[a])
	}
	return u.string(uint64(d.form[a]), d.v[a])
}

// string returns a string that is stored in another section.
func (u *unitRoot) string(form, v uint64) []byte {
	switch {
	case form == formStrp:
		return u.f.str.CString(v)
	case form == formLineStrp:
		return u.f.lineStr.CString(v)
	case form == formStrx, form == formGNUStrIndex, form >= formStrx1 && form <= formStrx4:
		return u.strx(v)
	case form == formStrpSup, form == formGNUStrpAlt:
		if s := u.f.sup.open(); s != nil {
			return s.str.CString(v)
		}
	}
	return nil
}

// strx returns string i of the unit's contribution to .debug_str_offsets.
func (u *unitRoot) strx(i uint64) []byte {
	size := int(u.offSize)
	base := u.strBase
	if i >= 1<<40 || base >= 1<<40 {
		return nil
	}
	at := int(base) + int(i)*size
	off, p := bin.Uint(u.f.strOffsets.UpTo(at+size), at, size, u.big)
	if p == bin.Past {
		return nil
	}
	return u.f.str.CString(off)
}

// address returns the value of an attribute of class address. It returns false if the attribute is missing or of another class.
func (u *unitRoot) address(d *attributes, a attr) (uint64, bool) {
	if !d.has(a) {
		return 0, false
	}
	switch form := d.form[a]; {
	case form == formAddr:
		return d.v[a], true
	case form == formAddrx, form >= formAddrx1 && form <= formAddrx4, form == formGNUAddrIndex:
		return u.addrx(d.v[a])
	}
	return 0, false
}

// addrx returns address i of the unit's contribution to .debug_addr.
func (u *unitRoot) addrx(i uint64) (uint64, bool) {
	size, home := int(u.addrSize), u.skeleton()
	base := home.root.number(attrAddrBase)
	if i >= 1<<40 || base >= 1<<40 {
		return 0, false
	}
	at := int(base) + int(i)*size
	v, p := bin.Uint(home.f.addr.UpTo(at+size), at, size, u.big)
	return v, p != bin.Past
}

// Forms (DWARF 5 §7.5.6, table 7.6) that are used by name.
const (
	formAddr          = 0x01
	formString        = 0x08
	formRef1          = 0x11
	formRefUdata      = 0x15
	formRefAddr       = 0x10
	formStrp          = 0x0e
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formFlagPresent   = 0x19
	formLineStrp      = 0x1f
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// layout holds the parameters of a unit that determine the size of forms.
type layout struct {
	version           uint16
	addrSize, offSize uint8
	big               bool
}

// opKind says how the value of an attribute is skipped or read.
type opKind uint8

const (
	opFixed    opKind = iota // skip op.n bytes
	opULEB                   // skip a LEB128 number
	opString                 // skip a NUL-terminated string
	opBlock1                 // skip a block with a length of 1 byte
	opBlock2                 // skip a block with a length of 2 bytes
	opBlock4                 // skip a block with a length of 4 bytes
	opBlock                  // skip a block with a LEB128 length
	opIndirect               // skip a value after its form
	opUnknown                // cannot be skipped: the rest of the unit is lost
	opWanted                 // read into attributes
	opImplicit               // copy the value in the declaration to attributes
)

// formOp returns how to skip a value of the form: the kind of operation, and for opFixed the size in bytes.
func formOp(form uint64, l layout) (opKind, uint32) {
	switch form {
	case formFlagPresent, formImplicitConst:
		return opFixed, 0
	case 0x0b, 0x0c, formRef1, formStrx1, formAddrx1: // data1, flag
		return opFixed, 1
	case 0x05, 0x12, 0x26, 0x2a: // data2, ref2, strx2, addrx2
		return opFixed, 2
	case 0x27, 0x2b: // strx3, addrx3
		return opFixed, 3
	case 0x06, 0x13, formRefSup4, formStrx4, formAddrx4: // data4, ref4
		return opFixed, 4
	case 0x07, 0x14, 0x20, formRefSup8: // data8, ref8, ref_sig8
		return opFixed, 8
	case 0x1e: // data16
		return opFixed, 16
	case formAddr:
		return opFixed, uint32(l.addrSize)
	case formRefAddr:
		if l.version <= 2 {
			return opFixed, uint32(l.addrSize)
		}
		return opFixed, uint32(l.offSize)
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return opFixed, uint32(l.offSize)
	case 0x0d, 0x0f, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex: // sdata, udata
		return opULEB, 0
	case formString:
		return opString, 0
	case 0x0a:
		return opBlock1, 0
	case 0x03:
		return opBlock2, 0
	case 0x04:
		return opBlock4, 0
	case 0x09, 0x18: // block, exprloc
		return opBlock, 0
	case formIndirect:
		return opIndirect, 0
	}
	return opUnknown, 0
}

// formTable holds the results of formOp for the forms of the standard.
type formTable struct {
	layout layout
	ops    [formsListed]op
}

const formsListed = 0x2d

func newFormTable(l layout) *formTable {
	t := &formTable{layout: l}
	for form := range t.ops {
		t.ops[form].kind, t.ops[form].n = formOp(uint64(form), l)
	}
	return t
}

func (t *formTable) op(form uint64) (opKind, uint32) {
	if form < formsListed {
		return t.ops[form].kind, t.ops[form].n
	}
	return formOp(form, t.layout)
}

// formTable returns the table for a layout. Most files have only one layout.
func (r *lastUsed) formTable(l layout) *formTable {
	t := r.forms.Load()
	if t == nil || t.layout != l {
		t = newFormTable(l)
		r.forms.Store(t)
	}
	return t
}

// skipForm returns the position after a value at p. kind and n come from formOp.
func skipForm(b []byte, p int, kind opKind, n uint32, l layout) int {
	switch kind {
	case opFixed:
		return p + int(n)
	case opULEB:
		return bin.SkipLEB(b, p)
	case opString:
		return bin.SkipString(b, p)
	case opBlock1, opBlock2, opBlock4:
		v, q := bin.Uint(b, p, 1<<(kind-opBlock1), l.big)
		return bin.Skip(b, q, v)
	case opBlock:
		v, q := bin.ULEB(b, p)
		return bin.Skip(b, q, v)
	case opIndirect:
		form, q := bin.ULEB(b, p)
		if form == formIndirect || form == formImplicitConst {
			return bin.Past
		}
		kind, n = formOp(form, l)
		return skipForm(b, q, kind, n, l)
	}
	return bin.Past
}

// readForm reads a value: a number, an offset, an index, or the position of an inline string, of a block or of data of 16 bytes. It
// also returns the form, which differs from form for DW_FORM_indirect, and the position after the value.
func readForm(b []byte, p int, form uint64, l layout) (uint64, uint64, int) {
	if form == formIndirect {
		if form, p = bin.ULEB(b, p); form == formIndirect || form == formImplicitConst {
			return 0, form, bin.Past
		}
	}
	switch form {
	case formImplicitConst: // its value is in the declaration
		return 0, form, bin.Past
	case formFlagPresent:
		return 1, form, p
	case 0x0d: // sdata
		v, q := bin.SLEB(b, p)
		return uint64(v), form, q
	case formString:
		return uint64(p), form, bin.SkipString(b, p)
	}
	kind, n := formOp(form, l)
	switch {
	case kind == opULEB:
		v, q := bin.ULEB(b, p)
		return v, form, q
	case kind == opFixed && n <= 8:
		v, q := bin.Uint(b, p, int(n), l.big)
		return v, form, q
	}
	return uint64(p), form, skipForm(b, p, kind, n, l)
}

// block returns the bytes of a block whose position readForm returned. It returns false for another form.
func (u *unitRoot) block(d *attributes, a attr) ([]byte, bool) {
	if !d.has(a) {
		return nil, false
	}
	kind, _ := formOp(uint64(d.form[a]), u.layout)
	b, p, n := u.bytes(), int(d.v[a]), uint64(0)
	switch kind {
	case opBlock1, opBlock2, opBlock4:
		n, p = bin.Uint(b, p, 1<<(kind-opBlock1), u.big)
	case opBlock:
		n, p = bin.ULEB(b, p)
	default:
		return nil, false
	}
	end := bin.Skip(b, p, n)
	if end == bin.Past {
		return nil, false
	}
	return b[p:end], true
}

// declaringAttr returns the attr for a code of what an entry declares (DWARF 5 §2.14, §2.16, §2.21, §3.3, §5.13), and attrNone for
// other codes. Most functions have such attributes but few queries need them, so separate abbreviation tables read them.
func declaringAttr(code uint64) attr {
	switch code {
	case dwDeclFile:
		return attrDeclFile
	case 0x3c: // DW_AT_declaration
		return attrDeclaration
	case 0x20: // DW_AT_inline
		return attrInline
	case dwDeclLine:
		return attrDeclLine
	case 0x49: // DW_AT_type
		return attrType
	case 0x02: // DW_AT_location
		return attrLocation
	case 0x40: // DW_AT_frame_base
		return attrFrameBase
	case 0x0b: // DW_AT_byte_size
		return attrByteSize
	case 0x37: // DW_AT_count
		return attrElements
	case 0x22: // DW_AT_lower_bound
		return attrLowerBound
	case 0x2f: // DW_AT_upper_bound
		return attrUpperBound
	case 0x2136: // DW_AT_GNU_discriminator
		return attrDiscriminator
	case 0x3e03: // DW_AT_LLVM_tag_offset
		return attrTagOffset
	case 0x8c: // DW_AT_loclists_base
		return attrLoclistsBase
	}
	return attrNone
}

// Codes of DW_AT_decl_file and DW_AT_decl_line.
const dwDeclFile, dwDeclLine = 0x3a, 0x3b

// entryOf returns what entry and declaration a function has. die is the offset of its entry, or −1.
func (u *Unit) entryOf(die int) symsrc.Entry {
	switch {
	case die < 0:
		return symsrc.NoEntry
	case u.isDeclared(die):
		return symsrc.Declared
	}
	return symsrc.Undeclared
}

// isDeclared reports whether the function whose entry is at die has declaration coordinates.
func (u *Unit) isDeclared(die int) bool {
	w := originWalk{u: u, in: u.f, die: die, declarations: true}
	for w.next() {
		if w.d.number(attrDeclLine) != 0 {
			return true
		}
		if w.d.has(attrDeclFile) && w.u.sourceFile(w.d.v[attrDeclFile]).path != "" {
			return true
		}
	}
	return false
}

// maxOrigins bounds the length of a chain of origins and specifications. Real ones have three or four entries.
const maxOrigins = 16

// originWalk follows the specifications and abstract origins of an entry, which may be in other units and in the supplementary file.
type originWalk struct {
	in           *Data // the file of the next entry
	die          int   // the offset of the next entry
	n            int   // number of entries read
	declarations bool  // declaration coordinates are read, also of entries that are no functions

	u *Unit // of the entry that was read last
	d attributes
}

// next reads the next entry, at first the one with which the walk begins. It returns false at the end of the chain.
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
	b := w.u.bytes()
	code, p := bin.ULEB(b, w.die)
	a, c := w.u.abbrevs.find(code)
	if w.declarations && a.tag != tagSubprogram {
		a, c = w.u.declared().find(code)
	}
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

// nameOf returns the name of the function whose entry is at die, as a number in the table of names.
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

// readName returns the first linkage name of an entry and its origins or, if there is none or short is set, the first DW_AT_name.
// The result is a number in the table of names.
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
