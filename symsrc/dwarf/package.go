package dwarf

import "qss-filter/symsrc/bin"

// contribution is where a unit and its parts of other sections begin: 0 for these in a file that is no package.
type contribution struct {
	info                         int
	abbrev, strOffsets, rnglists uint64
}

// Columns of the index (DWARF 5 §7.3.5.3); the GNU form has the same numbers for what is read here of it.
const (
	columnInfo       = 1
	columnAbbrev     = 3
	columnStrOffsets = 6
	columnRnglists   = 8
)

// packaged looks a unit up in the index of a package, .debug_cu_index (DWARF 5 §7.3.5.3; the GNU form is version 2).
func (f *Data) packaged(id uint64) (at contribution, ok bool) {
	b := f.cuIndex.All()
	c := &bin.Cursor{B: b, Big: f.elf.Big}
	version, low := c.U16(), c.U16()
	if version == 0 { // in version 2 it has four bytes
		version = low
	}
	columns, units, slots := uint64(c.U32()), uint64(c.U32()), uint64(c.U32())
	const header, maxColumns = 16, 16
	if !c.OK() || version != 2 && version != 5 || columns > maxColumns || slots == 0 || slots&(slots-1) != 0 ||
		header+12*slots+4*columns*(1+2*units) > uint64(len(b)) {
		return at, false
	}
	row, tries := uint64(0), 0
	defer func() { f.budget.Spend(tries) }()
	for i, step, left := id&(slots-1), id>>32&(slots-1)|1, slots; left > 0; i, left = (i+step)&(slots-1), left-1 {
		tries++
		signature, _ := bin.Uint(b, int(header+8*i), 8, f.elf.Big)
		n, _ := bin.Uint(b, int(header+8*slots+4*i), 4, f.elf.Big)
		if signature == id && n > 0 {
			row = n
			break
		}
		if n == 0 {
			return at, false
		}
	}
	if row == 0 || row > units {
		return at, false
	}
	table := int(header + 12*slots)
	for i := range int(columns) {
		column, _ := bin.Uint(b, table+4*i, 4, f.elf.Big)
		off, _ := bin.Uint(b, table+4*(int(row*columns)+i), 4, f.elf.Big)
		switch {
		case column == columnInfo:
			at.info, ok = int(off), true
		case column == columnAbbrev:
			at.abbrev = off
		case column == columnStrOffsets:
			at.strOffsets = off
		case column == columnRnglists && version == 5:
			at.rnglists = off
		}
	}
	return at, ok
}
