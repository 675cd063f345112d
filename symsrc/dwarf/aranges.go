package dwarf

import (
	"cmp"
	"container/heap"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// arange is a range of addresses that a unit covers.
type arange struct {
	elf.Span
	unit int // offset of the unit in .debug_info
}

// Memory, in bytes, of a range, and of an overlapping range while the ranges are made disjoint.
const arangeWeight, overlapWeight = 40, 120

// rangeTable finds the unit of an address in ranges that are read once. The first lookup is a linear search; the second one
// sorts the ranges.
type rangeTable struct {
	readOnce, sortOnce sync.Once
	touched            atomic.Bool
	ready              atomic.Bool // the ranges are sorted
	mu                 sync.Mutex  // held while the ranges are sorted, or searched unsorted
	ranges             []arange
	units              []atomic.Pointer[Unit] // the unit of each range, set by the first lookup
}

// onlyUnit returns the unit that covers the address. It returns false if none or several do, or if its code may be discarded.
func (t *rangeTable) onlyUnit(f *Data, addr uint64) (unit int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ranges {
		if a := &t.ranges[i]; a.Covers(addr) {
			if ok && a.unit != unit || f.addressing.IsDoubtful(a.Lo) {
				return 0, false
			}
			unit, ok = a.unit, true
		}
	}
	return unit, ok
}

// sort sorts the ranges and makes them disjoint, once.
func (t *rangeTable) sort(f *Data) {
	t.sortOnce.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !f.rules.Overlaps {
			t.ranges = withoutDiscarded(&f.addressing, t.ranges, func(a *arange) (*elf.Span, int) { return &a.Span, a.unit })
		}
		t.ranges = disjointRanges(t.ranges, f.budget)
		t.units = make([]atomic.Pointer[Unit], len(t.ranges))
		t.ready.Store(true)
	})
}

// unitOf returns the unit that covers the address, or nil if that unit cannot be read. It returns false if no unit covers it.
func (t *rangeTable) unitOf(f *Data, addr uint64) (*Unit, bool) {
	t.sort(f)
	i := t.search(addr)
	if i < 0 {
		return nil, false
	}
	u := t.units[i].Load()
	if u == nil {
		u = f.unitAt(t.ranges[i].unit)
		t.units[i].Store(u)
	}
	return u, true
}

// unitIndex finds units by their addresses.
type unitIndex struct {
	of             *Data
	aranges, roots rangeTable  // the ranges of .debug_aranges, and those of the units that are not listed there
	answered       atomic.Bool // a unit was found for an address
}

// UnitFor returns the unit that covers the address, or nil if there is none. The first lookup in a file builds no table.
func (d *Data) UnitFor(addr uint64) *Unit { return d.index.unitFor(addr) }

func (x *unitIndex) unitFor(addr uint64) *Unit {
	f := x.of
	if f.Info.Size == 0 {
		return nil
	}
	if !x.aranges.touched.Load() && x.aranges.touched.CompareAndSwap(false, true) {
		found, n := 0, 0
		x.readAranges(func(a arange) {
			switch {
			case !a.Covers(addr):
			case f.addressing.IsDoubtful(a.Lo):
				n += 2
			case n == 0 || a.unit != found:
				found = a.unit
				n++
			}
		}, nil)
		if n == 1 {
			return f.unitAt(found)
		}
	}
	x.aranges.readOnce.Do(func() {
		f.hooks.Prefetch()
		x.aranges.ranges = make([]arange, 0, f.arangeSets.Size/16)
		kept := budget.Tally{Of: f.budget}
		x.readAranges(func(a arange) {
			x.aranges.ranges = append(x.aranges.ranges, a)
			kept.Add(1, arangeWeight)
		}, nil)
		kept.Flush()
	})
	if u, ok := x.aranges.unitOf(f, addr); ok {
		return u
	}
	// .debug_aranges may be missing or cover only some of the units.
	roots := &x.roots
	roots.readOnce.Do(func() { roots.ranges = x.readRoots() })
	if !roots.touched.Load() && roots.touched.CompareAndSwap(false, true) {
		if off, ok := roots.onlyUnit(f, addr); ok {
			return f.unitAt(off)
		}
	}
	u, _ := roots.unitOf(f, addr)
	return u
}

// RangeStart returns the start of the range, around an address, of the unit that covers it. It returns false if there is none.
func (d *Data) RangeStart(addr uint64) (start uint64, ok bool) {
	x := &d.index
	x.unitFor(addr) // the first lookup builds no tables
	if x.unitFor(addr) == nil {
		return 0, false
	}
	for _, t := range [...]*rangeTable{&x.aranges, &x.roots} {
		if t.ready.Load() {
			if i := t.search(addr); i >= 0 {
				return t.ranges[i].Lo, true
			}
		}
	}
	return 0, false
}

// search returns the index of the range that covers the address, or −1. The ranges are sorted.
func (t *rangeTable) search(addr uint64) int {
	i, j := 0, len(t.ranges)
	for i < j {
		if h := int(uint(i+j) >> 1); t.ranges[h].Lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 || addr >= t.ranges[i-1].Hi {
		return -1
	}
	return i - 1
}

// readAranges reads .debug_aranges (DWARF 5 §6.1.2). It calls each with every range and, if unit is not nil, unit with the offset
// of every unit that has a set.
func (x *unitIndex) readAranges(each func(arange), unit func(int)) {
	f := x.of
	b := f.arangeSets.All()
	for off := 0; off < len(b); {
		c := &bin.Cursor{B: b, P: off, Big: f.elf.Big}
		n, offSize := c.Length()
		if !c.OK() || n > uint64(len(b)-c.P) {
			return
		}
		end := c.P + int(n)
		c.B = b[:end]
		version := c.U16()
		at := c.Uint(offSize)
		size, segment := int(c.U8()), int(c.U8())
		if !c.OK() || version != 2 || (size != 4 && size != 8) || segment != 0 || at >= uint64(f.Info.Size) {
			off = end
			continue
		}
		if unit != nil {
			unit(int(at))
		}
		p := off + (c.P-off+2*size-1)/(2*size)*(2*size) // tuples are aligned to their size, relative to the start of the set
		for p+2*size <= end {
			var lo, length uint64
			lo, p = bin.Uint(b, p, size, f.elf.Big)
			length, p = bin.Uint(b, p, size, f.elf.Big)
			if lo < lo+length && !f.addressing.IsTombstone(lo) {
				each(arange{f.addressing.SectionRelative(elf.Span{Lo: lo, Hi: lo + length}), int(at)})
			}
		}
		off = end
	}
}

// disjointRanges sorts ranges and makes them disjoint. Where several units cover an address, the unit of the addresses just below
// it continues if it is one of them; otherwise the first unit in the file is chosen, as in llvm.
func disjointRanges(all []arange, limits *budget.File) []arange {
	slices.SortFunc(all, func(a, b arange) int {
		if a.Lo != b.Lo {
			return cmp.Compare(a.Lo, b.Lo)
		}
		return cmp.Compare(a.unit, b.unit)
	})
	var end uint64
	for _, a := range all {
		if a.Lo < end {
			limits.Hold(len(all) * overlapWeight)
			limits.Spend(len(all) * stepsPerOverlap)
			return sweep(all)
		}
		end = a.Hi
	}
	return all
}

// stepsPerOverlap is the number of steps that a range costs while many of them are made disjoint.
const stepsPerOverlap = 64

// sweep makes overlapping ranges disjoint. They are sorted by Lo.
func sweep(all []arange) (out []arange) {
	ends := slices.Clone(all)
	slices.SortFunc(ends, func(a, b arange) int { return cmp.Compare(a.Hi, b.Hi) })
	active := make(map[int]int)                // number of ranges of each unit that cover the current address
	first := queue[int]{before: cmp.Less[int]} // the units of active, the first in the file first, and some that have ended
	prev := uint64(0)
	for i, j := 0, 0; j < len(ends); {
		at := ends[j].Hi
		if i < len(all) {
			at = min(at, all[i].Lo)
		}
		if len(active) > 0 && prev < at {
			n := len(out)
			if n > 0 && out[n-1].Hi == prev && active[out[n-1].unit] > 0 {
				out[n-1].Hi = at
			} else {
				for active[first.items[0]] == 0 {
					heap.Pop(&first)
				}
				out = append(out, arange{elf.Span{Lo: prev, Hi: at}, first.items[0]})
			}
		}
		for ; i < len(all) && all[i].Lo == at; i++ {
			if active[all[i].unit]++; active[all[i].unit] == 1 {
				heap.Push(&first, all[i].unit)
			}
		}
		for ; j < len(ends) && ends[j].Hi == at; j++ {
			if active[ends[j].unit]--; active[ends[j].unit] == 0 {
				delete(active, ends[j].unit)
			}
		}
		prev = at
	}
	return out
}

// queue is a heap.Interface. No item comes before the first one.
type queue[T any] struct {
	items  []T
	before func(a, b T) bool
}

// Len returns the number of items.
func (q *queue[T]) Len() int { return len(q.items) }

// Less reports whether item i comes before item j.
func (q *queue[T]) Less(i, j int) bool { return q.before(q.items[i], q.items[j]) }

// Swap swaps two items.
func (q *queue[T]) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }

// Push appends an item, for heap.Push.
func (q *queue[T]) Push(x any) { q.items = append(q.items, x.(T)) }

// Pop removes the last item, for heap.Pop.
func (q *queue[T]) Pop() any {
	last := len(q.items) - 1
	x := q.items[last]
	q.items = q.items[:last]
	return x
}

// Boundaries calls add with the addresses at which ranges of units begin and end.
func (d *Data) Boundaries(add func(...uint64)) {
	if d.Info.Size == 0 {
		return
	}
	x := &d.index
	x.unitFor(0) // the first lookup builds no tables
	x.unitFor(0)
	x.roots.sort(d)
	for _, t := range [...]*rangeTable{&x.aranges, &x.roots} {
		for _, r := range t.ranges {
			add(r.Lo, r.Hi)
		}
	}
}

// Cold reports whether looking up an address may take long: because a large unit has to be read, or because its unit is not known.
func (d *Data) Cold(addr uint64) bool {
	for _, t := range [...]*rangeTable{&d.index.aranges, &d.index.roots} {
		if !t.ready.Load() {
			return true
		}
		if i := t.search(addr); i >= 0 {
			u := t.units[i].Load()
			return u == nil || u.cold()
		}
	}
	return false
}

// cold reports whether the unit is large and has not been read completely.
func (u *Unit) cold() bool {
	body := u.split.Load()
	return body == nil || body.end-body.off > quickUnit && (u.lines.Load() == nil || body.functions[topLevel].Load() == nil || body.functions[nested].Load() == nil)
}

// quickUnit is the size, in bytes, up to which a unit is read in negligible time.
const quickUnit = 4 << 20

// rootReader reads the headers and root entries of units, one after the other. If they are far apart, it reads them from the file
// and not from its mapping, because each page fault reads up to 64 KiB.
type rootReader struct {
	f      *Data
	t      *abbrevs // with no declarations compiled
	key    rootKey  // of decl
	decl   decl     // of the last root entry
	u      unitRoot
	in     io.ReaderAt // nil if the mapping is read
	far    bool        // the last unit was large
	window [512]byte
}

// rootKey identifies the declaration of a root entry. Consecutive units often have the same one.
type rootKey struct {
	abbrevKey
	code uint64
}

// listedWeight is the memory, in bytes, to remember that a unit is listed.
const listedWeight = 32

// farUnit is the size, in bytes, above which a unit makes the next one far away.
const farUnit = 1 << 15

// readRoots returns the ranges in the root entries of the units that .debug_aranges does not list. It compiles no abbreviation
// tables, because only the declaration of the root entry is needed, and GCC puts it last.
func (x *unitIndex) readRoots() (all []arange) {
	f := x.of
	listed := make(map[int]bool)
	kept := budget.Tally{Of: f.budget}
	x.readAranges(func(arange) {}, func(unit int) {
		listed[unit] = true
		kept.Add(1, listedWeight)
	})
	r := rootReader{f: f, t: newAbbrevs(f, 0, f.lastUsed.formTable(layout{}))}
	if f.infoAt > 0 && f.Info.Size > farUnit {
		if in := f.hooks.Reopen(); in != nil {
			defer in.Close()
			r.in = in
		}
	}
	var spans []elf.Span
	for off := 0; off < f.Info.Size; off = r.u.end {
		spans = r.read(off, listed[off], spans[:0])
		kept.Add(1, len(spans)*arangeWeight)
		for _, s := range spans {
			all = append(all, arange{s, off})
		}
	}
	kept.Flush()
	return all
}

// read appends the ranges of the unit at off unless they are known. It sets r.u.end to the offset of the next unit.
func (r *rootReader) read(off int, known bool, out []elf.Span) []elf.Span {
	f := r.f
	if r.far && r.in != nil {
		if n, err := r.in.ReadAt(r.window[:], f.infoAt+int64(off)); err == nil {
			if spans, ok := r.parse(off, r.window[:n], 0, known, out); ok {
				return spans
			}
		}
	}
	out, _ = r.parse(off, f.Info.UpTo(off+len(r.window)), off, known, out)
	return out
}

// parse is read for a header at b[p:]. It returns false if b is too short.
func (r *rootReader) parse(off int, b []byte, p int, known bool, out []elf.Span) ([]elf.Span, bool) {
	u := &r.u
	table, ok := r.f.parseUnitHeader(u, off, b, p)
	if u.end == bin.Past {
		return out, false
	}
	r.far = u.end-off > farUnit
	if known || !ok || u.typ == unitType || table >= uint64(len(r.t.b)) {
		return out, true
	}
	if p == off {
		b = r.f.Info.UpTo(u.end)
	}
	code, p := bin.ULEB(b, p+u.die-off)
	if key := (rootKey{abbrevKey{off: table, layout: u.layout}, code}); key != r.key {
		r.t.p, r.t.forms, r.t.ops = int(table), r.f.lastUsed.formTable(u.layout), r.t.ops[:0]
		r.key, r.decl = key, r.t.declOf(code)
	}
	if !u.readRoot(b, p, &r.decl, &compiled{ops: r.t.ops}) {
		return out, r.decl.tag == 0
	}
	if u.tag == tagTypeUnit {
		return out, true
	}
	return u.ranges(&u.root, out), true
}

// declOf returns the declaration of a code without compiling the ones before it.
func (t *abbrevs) declOf(code uint64) decl {
	b, p := t.b, t.p
	for p != bin.Past {
		var c uint64
		if c, p = bin.ULEB(b, p); c == 0 {
			break
		}
		if c == code {
			return t.decl(p)
		}
		start := p
		p = bin.SkipLEB(b, p) + 1 // the tag and DW_CHILDREN
		for p < len(b) {
			if p+1 < len(b) && b[p]|b[p+1] < 0x80 && b[p+1] != formImplicitConst {
				if p += 2; b[p-2]|b[p-1] == 0 {
					break
				}
				continue
			}
			p = bin.SkipLEB(b, p)
			var form uint64
			if form, p = bin.ULEB(b, p); form == formImplicitConst {
				p = bin.SkipLEB(b, p)
			}
		}
		if p >= len(b) {
			break
		}
		t.f.budget.Spend(p - start)
	}
	return decl{}
}

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

// ranges appends the address ranges of an entry, without those that the linker discarded.
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
	return u.rangesOfList(d, out)
}

// rangesOfList appends the ranges of the range list that DW_AT_ranges refers to.
func (u *unitRoot) rangesOfList(d *attributes, out []elf.Span) []elf.Span {
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

// appendSpan appends the range from lo to hi, unless it is empty or the linker discarded it.
func (u *unitRoot) appendSpan(out []elf.Span, lo, hi uint64) []elf.Span {
	if lo >= hi || u.f.addressing.IsTombstone(lo) {
		return out
	}
	return append(out, u.f.addressing.SectionRelative(elf.Span{Lo: lo, Hi: hi}))
}

// longList is the number of ranges of a list after which its steps are counted; those of shorter lists count with the entry.
const longList, stepsPerRange = 1 << 6, 4

// prefetch is how many bytes of a compressed section of range lists are unpacked from the start of a list on.
const prefetch = 1 << 16

// rangeList reads a list of .debug_ranges (DWARF 4 §2.17.3).
func (u *unitRoot) rangeList(off uint64, out []elf.Span) []elf.Span {
	home := u.skeleton()
	s := &home.f.rangeLists
	if u.skeletonUnit != nil {
		off += home.root.number(attrRangesBase)
	}
	if off >= uint64(s.Size) {
		return out
	}
	b, p, base, size := s.UpTo(int(off)+prefetch), int(off), u.base, int(u.addrSize)
	baseSelector := ^uint64(0) >> (64 - 8*uint(size)) // a lo of this value makes hi the new base
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
		case lo == baseSelector:
			base = hi
		case lo == baseSelector-1, u.f.addressing.IsTombstone(base) && base > 1: // discarded by the linker
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
	const longest = 1 + 2*10 // size of the longest entry
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
			if x, y = x+base, y+base; u.f.addressing.IsTombstone(base) && base > 1 {
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
		default: // the end of the list, or an unknown entry
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
