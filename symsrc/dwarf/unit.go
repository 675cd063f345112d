package dwarf

import (
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// Unit types of DWARF 5 §7.5.1.
const (
	unitCompile      = 1
	unitType         = 2
	unitPartial      = 3
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)

// unitTable holds the units of a file, and their abbreviations, as far as they were asked for.
type unitTable struct {
	mu      sync.Mutex
	read    map[int]*Unit // by their position; nil for one that is no good
	abbrevs map[abbrevKey]*abbrevs

	walk    sync.Once
	offsets []int // of all units
}

// Unit is one unit of .debug_info. What look-ups need is built when it is first asked for, under mu, and read without it.
type Unit struct {
	unitRoot

	mu        sync.Mutex
	touched   atomic.Bool
	lines     atomic.Pointer[lineTable]
	functions [2]atomic.Pointer[functionIndex] // see functionAt
	compDir   atomic.Pointer[[]byte]
	split     atomic.Pointer[Unit] // see body

	namesMu sync.Mutex
	names   map[int]uint32 // by the entry that is named
}

// unitRoot is a unit's header and root entry, which are read when the unit is made and do not change.
type unitRoot struct {
	f *Data
	layout
	typ      uint8
	off, end int // in .debug_info
	die      int // where the root entry is
	abbrevs  *abbrevs
	tag      uint16
	root     attributes
	base     uint64    // that offsets in range lists are added to
	dwoID    uint64    // of a skeleton and its split unit
	home     *unitRoot // the skeleton of a split unit

	strBase, rnglistsBase, rnglistsStart uint64 // where its part of the sections begins
}

// readUnitHeader reads the header of the unit at off (DWARF 5 §7.5.1) and the offset of its abbreviations. It fails
// where the header is cut off or of an unknown version; then end is past, or where the next unit is.
func (d *Data) readUnitHeader(u *unitRoot, off int) (abbrevs uint64, ok bool) {
	if off < 0 || off >= d.Info.Size {
		*u = unitRoot{f: d, off: off, end: bin.Past}
		return 0, false
	}
	return d.parseUnitHeader(u, off, d.Info.UpTo(off+64), off)
}

// parseUnitHeader is readUnitHeader for a header at p of b.
func (d *Data) parseUnitHeader(u *unitRoot, off int, b []byte, p int) (abbrevs uint64, ok bool) {
	*u = unitRoot{f: d, off: off, end: bin.Past}
	c := &bin.Cursor{B: b, P: p, Big: d.elf.Big}
	n, offSize := c.Length()
	if !c.OK() || n > uint64(d.Info.Size-off-(c.P-p)) {
		return 0, false
	}
	u.end = off + (c.P - p) + int(n)
	u.offSize, u.big = uint8(offSize), d.elf.Big
	u.version = c.U16()
	if u.version < 2 || u.version > 5 {
		return 0, false
	}
	u.typ = unitCompile
	if u.version >= 5 {
		u.typ, u.addrSize = c.U8(), c.U8()
		abbrevs = c.Uint(offSize)
		switch u.typ {
		case unitSkeleton, unitSplitCompile:
			u.dwoID = c.Uint(8)
		case unitType, unitSplitType:
			c.Skip(8 + uint64(offSize))
		}
	} else {
		abbrevs = c.Uint(offSize)
		u.addrSize = c.U8()
	}
	u.die = off + (c.P - p)
	validSize := u.addrSize == 2 || u.addrSize == 4 || u.addrSize == 8
	return abbrevs, c.OK() && u.die < u.end && validSize
}

// unitAt returns the unit whose header is at off; nil where there is no good one. Only code lies in it that a look-up
// may find: type units are none.
func (d *Data) unitAt(off int) *Unit {
	d.units.mu.Lock()
	u, ok := d.units.read[off]
	d.units.mu.Unlock()
	if ok {
		return u
	}
	u = d.openUnit(off)
	d.units.mu.Lock()
	defer d.units.mu.Unlock()
	if other, ok := d.units.read[off]; ok {
		return other
	}
	d.units.read[off] = u
	return u
}

// openUnit reads the header and the root entry of the unit at off.
func (d *Data) openUnit(off int) *Unit { return d.openUnitOf(contribution{info: off}, nil) }

// openUnitOf is openUnit for a unit of a package, or one that has a skeleton.
func (d *Data) openUnitOf(at contribution, skeleton *unitRoot) *Unit {
	d.budget.Spend(1)
	d.budget.Hold(unitWeight)
	u := &Unit{}
	table, ok := d.readUnitHeader(&u.unitRoot, at.info)
	if !ok || d.Info.UpTo(u.end) == nil {
		return nil
	}
	u.abbrevs, u.home = d.abbrevsAt(abbrevKey{off: at.abbrev + table, layout: u.layout}), skeleton
	b := u.bytes()
	code, p := bin.ULEB(b, u.die)
	if root, c := u.abbrevs.find(code); !u.readRoot(b, p, root, c) {
		return nil
	}
	if d.split {
		u.setBases(at)
	}
	return u
}

// readRoot reads the attributes of the root entry, which begin at p.
func (u *unitRoot) readRoot(b []byte, p int, d *decl, c *compiled) bool {
	u.tag = d.tag
	if d.tag == 0 || u.readEntry(b, p, c.read(d), &u.root) >= bin.Past {
		return false
	}
	u.strBase, u.rnglistsBase = u.root.number(attrStrOffsetsBase), u.root.number(attrRnglistsBase)
	if u.root.has(attrDwoID) {
		u.dwoID = u.root.v[attrDwoID]
	}
	u.base, _ = u.address(&u.root, attrLowPC)
	return true
}

// What a unit takes in memory with its line table, and an abbreviation table before anything is compiled, in bytes.
const unitWeight, tableWeight = 1 << 10, 256

// bytes returns .debug_info up to the unit's end, so that positions in it are those in the section.
func (u *unitRoot) bytes() []byte { return u.f.Info.UpTo(u.end) }

// abbrevsAt returns an abbreviation table, shared by the units that name it.
func (d *Data) abbrevsAt(key abbrevKey) *abbrevs {
	d.units.mu.Lock()
	defer d.units.mu.Unlock()
	t := d.units.abbrevs[key]
	if t == nil {
		d.budget.Hold(tableWeight)
		t = newAbbrevs(d, key.off, d.recent.formTable(key.layout))
		t.key = key
		d.units.abbrevs[key] = t
	}
	return t
}

// unitOffsets returns the positions of all units of .debug_info, in order.
func (d *Data) unitOffsets() []int {
	d.units.walk.Do(func() {
		t := budget.Tally{Of: d.budget}
		for off := 0; off < d.Info.Size; {
			c := &bin.Cursor{B: d.Info.UpTo(off + 12), P: off, Big: d.elf.Big}
			n, _ := c.Length()
			if !c.OK() || n > uint64(d.Info.Size-c.P) {
				break
			}
			t.Add(1, 0)
			if n > 0 { // otherwise it is padding
				d.units.offsets = append(d.units.offsets, off)
				t.Add(0, 2*8)
			}
			off = c.P + int(n)
		}
		t.Flush()
	})
	return d.units.offsets
}

// unitOf returns the unit that the entry at off belongs to; nil where there is none, and in a package, whose units do not refer
// to each other.
func (d *Data) unitOf(off int) *Unit {
	if d.cuIndex.Size > 0 {
		return nil
	}
	offsets := d.unitOffsets()
	i, found := slices.BinarySearch(offsets, off)
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	if u := d.unitAt(offsets[i]); u != nil && off >= u.die && off < u.end {
		return u
	}
	return nil
}

// compDirectory returns the unit's compilation directory.
func (u *Unit) compDirectory() []byte {
	if dir := u.compDir.Load(); dir != nil {
		return *dir
	}
	dir := u.text(&u.root, attrCompDir)
	dir = append([]byte{}, dir[:min(len(dir), maxPath)]...)
	u.f.budget.Hold(len(dir))
	u.compDir.Store(&dir)
	return dir
}
