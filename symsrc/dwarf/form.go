package dwarf

import "qss-filter/symsrc/bin"

// Forms (DWARF 5 §7.5.6, table 7.6) that are told apart outside of the table below.
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

// layout is what the size of forms depends on.
type layout struct {
	version           uint16
	addrSize, offSize uint8
	big               bool
}

// opKind tells how an attribute is passed over or read.
type opKind uint8

const (
	opFixed    opKind = iota // op.n bytes
	opULEB                   // a LEB128 number
	opString                 // a string up to its NUL
	opBlock1                 // a length of 1, 2, 4 bytes or LEB128, and as many bytes
	opBlock2                 //
	opBlock4                 //
	opBlock                  //
	opIndirect               // the form stands before the value
	opUnknown                // cannot be passed over: the unit is lost from here on
	opWanted                 // read into attributes
	opImplicit               // given to attributes: it stands in the declaration
)

// formOp tells how to pass over a value of the form.
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
	case 0x0d, 0x0f, formRefUdata, formStrx, formAddrx, 0x22, formRnglistx, formGNUAddrIndex, formGNUStrIndex: // sdata, udata, loclistx
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

// formTable tells how to pass over values, for the forms of the standard by a look into a table.
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

// formTable is the table of a layout, of which most files have one.
func (r *recent) formTable(l layout) *formTable {
	t := r.forms.Load()
	if t == nil || t.layout != l {
		t = newFormTable(l)
		r.forms.Store(t)
	}
	return t
}

// skipForm is the position after a value of the kind at p.
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

// readForm reads a value: a number, an offset, an index, or for a string in place its position. Blocks give 0. The form
// comes back as it is behind an indirection.
func readForm(b []byte, p int, form uint64, l layout) (uint64, uint64, int) {
	if form == formIndirect {
		if form, p = bin.ULEB(b, p); form == formIndirect || form == formImplicitConst {
			return 0, form, bin.Past
		}
	}
	switch form {
	case formImplicitConst: // it is not here
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
	return 0, form, skipForm(b, p, kind, n, l)
}
