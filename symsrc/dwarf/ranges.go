package dwarf

import (
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/elf"
)

// Entries of .debug_rnglists (DWARF 5 §7.25).
const (
	rleEndOfList = iota
	rleBaseAddressx
	rleStartxEndx
	rleStartxLength
	rleOffsetPair
	rleBaseAddress
	rleStartEnd
	rleStartLength
)

// ranges appends the addresses that an entry covers, without the ranges that the linker dropped.
func (u *unitRoot) ranges(d *attributes, out []elf.Span) []elf.Span {
	if d.has(attrLowPC) && d.has(attrHighPC) {
		lo, ok := u.address(d, attrLowPC)
		hi, isAddress := u.address(d, attrHighPC)
		if !isAddress {
			hi = lo + d.v[attrHighPC]
		}
		if !ok {
			return out
		}
		return u.appendSpan(out, lo, hi)
	}
	if !d.has(attrRanges) {
		return out
	}
	return u.listed(d, out)
}

// listed appends the ranges of the list that the entry names.
func (u *unitRoot) listed(d *attributes, out []elf.Span) []elf.Span {
	if u.version < 5 {
		return u.rangeList(d.v[attrRanges], out)
	}
	off := d.v[attrRanges]
	if d.form[attrRanges] == formRnglistx {
		base := u.rnglistsBase
		if off >= 1<<32 || base >= 1<<40 {
			return out
		}
		size := int(u.offSize)
		at := int(base) + int(off)*size
		v, p := bin.Uint(u.f.rnglists.UpTo(at+size), at, size, u.big)
		if p == bin.Past {
			return out
		}
		off = base + v
	} else {
		off += u.rnglistsStart
	}
	return u.rnglist(off, out)
}

func (u *unitRoot) appendSpan(out []elf.Span, lo, hi uint64) []elf.Span {
	if lo >= hi || u.f.linkage.Dead(lo) {
		return out
	}
	return append(out, u.f.linkage.Unplaced(elf.Span{Lo: lo, Hi: hi}))
}

// longList is how many ranges of a list are read before their steps are counted; those of others are with the entry's.
const longList, stepsPerRange = 1 << 6, 4

// prefetch is how much of a compressed list section is unpacked ahead of a list.
const prefetch = 1 << 16

// rangeList reads a list of .debug_ranges (DWARF 4 §2.17.3).
func (u *unitRoot) rangeList(off uint64, out []elf.Span) []elf.Span {
	home := u.skeleton()
	s := &home.f.rangeLists
	if u.home != nil {
		off += home.root.number(attrRangesBase)
	}
	if off >= uint64(s.Size) {
		return out
	}
	b, p, base, size := s.UpTo(int(off)+prefetch), int(off), u.base, int(u.addrSize)
	select_ := ^uint64(0) >> (64 - 8*uint(size)) // in place of lo: hi is the new base
	for n := 1; ; n++ {
		if n%longList == 0 {
			u.f.budget.Spend(longList * stepsPerRange)
		}
		if p+2*size > len(b) {
			b = s.UpTo(p + 16*prefetch)
		}
		var lo, hi uint64
		lo, p = bin.Uint(b, p, size, u.big)
		hi, p = bin.Uint(b, p, size, u.big)
		switch {
		case p == bin.Past, lo == 0 && hi == 0:
			return out
		case lo == select_:
			base = hi
		case lo == select_-1, u.f.linkage.Dead(base) && base > 1: // dropped by the linker
		default:
			out = u.appendSpan(out, base+lo, base+hi)
		}
	}
}

// rnglist reads a list of .debug_rnglists (DWARF 5 §2.17.3).
func (u *unitRoot) rnglist(off uint64, out []elf.Span) []elf.Span {
	s := &u.f.rnglists
	if off >= uint64(s.Size) {
		return out
	}
	const longest = 1 + 2*10 // of an entry
	b, p, base, size := s.UpTo(int(off)+prefetch), int(off), u.base, int(u.addrSize)
	for n := 1; ; n++ {
		if n%longList == 0 {
			u.f.budget.Spend(longList * stepsPerRange)
		}
		if p+longest > len(b) {
			b = s.UpTo(p + 16*prefetch)
		}
		if uint(p) >= uint(len(b)) {
			return out
		}
		kind := b[p]
		p++
		var x, y uint64
		ok1, ok2 := true, true
		switch kind {
		case rleBaseAddressx:
			x, p = bin.ULEB(b, p)
			base, ok1 = u.addrx(x)
		case rleStartxEndx:
			x, p = bin.ULEB(b, p)
			y, p = bin.ULEB(b, p)
			x, ok1 = u.addrx(x)
			y, ok2 = u.addrx(y)
		case rleStartxLength:
			x, p = bin.ULEB(b, p)
			y, p = bin.ULEB(b, p)
			x, ok1 = u.addrx(x)
			y += x
		case rleOffsetPair:
			x, p = bin.ULEB(b, p)
			y, p = bin.ULEB(b, p)
			if x, y = x+base, y+base; u.f.linkage.Dead(base) && base > 1 {
				continue
			}
		case rleBaseAddress:
			base, p = bin.Uint(b, p, size, u.big)
		case rleStartEnd:
			x, p = bin.Uint(b, p, size, u.big)
			y, p = bin.Uint(b, p, size, u.big)
		case rleStartLength:
			x, p = bin.Uint(b, p, size, u.big)
			y, p = bin.ULEB(b, p)
			y += x
		default: // the end, or nothing known
			return out
		}
		if p == bin.Past || !ok1 || !ok2 {
			return out
		}
		if kind != rleBaseAddressx && kind != rleBaseAddress {
			out = u.appendSpan(out, x, y)
		}
	}
}
