package dwarf

import (
	"encoding/binary"
	"qss-filter/symsrc/bin"
)

// attributes are the attributes read of one debugging information entry. Values stay as they are in the file: what an
// index or an offset means may depend on an attribute that comes later.
type attributes struct {
	set  uint32 // a bit for each attr
	form [attrCount]uint16
	v    [attrCount]uint64
}

func (d *attributes) has(a attr) bool { return d.set&(1<<a) != 0 }

// number is the value of a constant attribute, 0 where it is missing.
func (d *attributes) number(a attr) uint64 {
	if !d.has(a) {
		return 0
	}
	return d.v[a]
}

// readEntry reads the attributes at p by the steps of a declaration, and gives the position behind them.
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

// skipEntry is the position behind an entry's attributes, which begin at p.
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

// reference is the position in .debug_info of the entry that an attribute refers to; false where it is missing or leads
// to another file.
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

// target is where the entry stands that an attribute refers to, in this file or in the supplementary one.
func (u *unitRoot) target(d *attributes, a attr) (*Data, int, bool) {
	if off, ok := u.reference(d, a); ok {
		return u.f, off, true
	}
	if d.has(a) {
		switch d.form[a] {
		case formRefSup4, formRefSup8, formGNURefAlt:
			if s := u.f.sup.get(); s != nil && d.v[a] < uint64(s.Info.Size) {
				return s, int(d.v[a]), true
			}
		}
	}
	return nil, 0, false
}

// text is the value of a string attribute; nil where it is missing.
func (u *unitRoot) text(d *attributes, a attr) []byte {
	if !d.has(a) {
		return nil
	}
	if d.form[a] == formString {
		return u.f.Info.CString(d.v[a])
	}
	return u.string(uint64(d.form[a]), d.v[a])
}

// string is a string that is not in place.
func (u *unitRoot) string(form, v uint64) []byte {
	switch {
	case form == formStrp:
		return u.f.str.CString(v)
	case form == formLineStrp:
		return u.f.lineStr.CString(v)
	case form == formStrx, form == formGNUStrIndex, form >= formStrx1 && form <= formStrx4:
		return u.strx(v)
	case form == formStrpSup, form == formGNUStrpAlt:
		if s := u.f.sup.get(); s != nil {
			return s.str.CString(v)
		}
	}
	return nil
}

// strx is string i of the unit's contribution to .debug_str_offsets.
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

// address is the value of an attribute of class address; false where it is missing or of another class.
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

// addrx is address i of the unit's contribution to .debug_addr.
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
