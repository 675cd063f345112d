package dwarf

import (
	"bytes"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// splits holds the files with the split units of a file's skeleton units (DWARF 5 §3.1.2 and §7.3.2; GNU extension of version 4).
type splits struct {
	of        *Data
	mu        sync.Mutex
	tried     bool // packages were opened
	packages  []*Data
	files     map[string]*Data // by path; nil for a file that cannot be opened
	unitsByID map[uint64]int   // if of has split units: their offsets, by their IDs
}

// body returns the unit with the functions: the split unit if u is a skeleton and its split unit is found, otherwise u.
func (u *Unit) body() *Unit {
	if b := u.split.Load(); b != nil {
		return b
	}
	if !u.root.has(attrDwoName) || u.skeletonUnit != nil || u.f.Opener == nil {
		u.split.Store(u)
		return u
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if b := u.split.Load(); b != nil {
		return b
	}
	b := u.f.splits.unit(u)
	if b == nil {
		u.f.missing.Store(true)
		b = u
	}
	u.split.Store(b)
	return b
}

// skeleton returns the unit that has the addresses, the range lists of version 4, and the lines: the skeleton if u is a split unit,
// otherwise u.
func (u *unitRoot) skeleton() *unitRoot {
	if u.skeletonUnit != nil {
		return &u.skeletonUnit.unitRoot
	}
	return u
}

// sourceFile returns the source file of that number, as in an attribute of one of the unit's entries.
func (u *Unit) sourceFile(number uint64) *sourceFile {
	if u.skeletonUnit != nil {
		u = u.skeletonUnit
	}
	return u.lineTable().sourceFile(number)
}

// unit returns the split unit of a skeleton, from a package or from a separate file, or nil.
func (s *splits) unit(skeleton *Unit) *Unit {
	f := s.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tried {
		s.tried = true
		for _, path := range f.Opener.PackagePaths() {
			if p, err := f.Opener.Open(path, true); err == nil {
				s.packages = append(s.packages, p)
			}
		}
	}
	for _, p := range s.packages {
		c, ok := p.findInPackage(skeleton.dwoID)
		if !ok && f.rules.PackageOnly && len(p.cuIndex.All()) == 0 { // it may be a .dwo file
			c.info, ok = p.splits.units()[skeleton.dwoID]
		}
		if ok {
			if u := p.splits.open(c, skeleton); u != nil {
				return u
			}
		}
	}
	if f.rules.PackageOnly && len(s.packages) > 0 {
		return nil
	}
	for _, path := range skeleton.splitPaths() {
		d := s.file(path)
		if d == nil {
			continue
		}
		if off, ok := d.splits.units()[skeleton.dwoID]; ok {
			if u := d.splits.open(contribution{info: off}, skeleton); u != nil {
				return u
			}
		}
	}
	return nil
}

// file returns the file of split units at a path, or nil. It is opened once.
func (s *splits) file(path string) *Data {
	d, ok := s.files[path]
	if !ok {
		d, _ = s.of.Opener.Open(path, true)
		if s.files == nil {
			s.files = make(map[string]*Data)
		}
		s.files[path] = d
	}
	return d
}

// splitPaths returns the possible paths of the file of a skeleton's split unit.
func (u *Unit) splitPaths() []string {
	name := string(u.text(&u.root, attrDwoName))
	if name == "" || len(name) > maxPath {
		return nil
	}
	return u.f.Opener.SplitPaths(name, string(u.compDirectory()))
}

// units returns the offsets of the split units in a file that is not a package, by their IDs.
func (s *splits) units() map[uint64]int {
	if s.unitsByID != nil {
		return s.unitsByID
	}
	s.unitsByID = make(map[uint64]int)
	for _, off := range s.of.unitOffsets() {
		u := s.of.openUnitOf(contribution{info: off}, nil)
		if u == nil || u.version >= 5 && u.typ != unitSplitCompile || u.version < 5 && !u.root.has(attrDwoID) {
			continue
		}
		if _, ok := s.unitsByID[u.dwoID]; !ok {
			s.unitsByID[u.dwoID] = off
		}
	}
	return s.unitsByID
}

// open returns the unit at c if it is the split unit of a skeleton, otherwise nil.
func (s *splits) open(c contribution, skeleton *Unit) *Unit {
	u := s.of.openUnitOf(c, skeleton)
	if u == nil || u.dwoID != skeleton.dwoID || u.addrSize != skeleton.addrSize || u.version >= 5 != (skeleton.version >= 5) {
		return nil
	}
	return u
}

// setBases sets the base offsets of a split unit, which has no attributes for them: in version 5 they are after the headers of the
// contributions (DWARF 5 §7.26, §7.28), in version 4 there are no headers.
func (u *unitRoot) setBases(c contribution) {
	u.strBase, u.rnglistsBase, u.rnglistsStart = c.strOffsets, c.rnglists, c.rnglists
	if u.version >= 5 {
		length64 := uint64(0) // additional bytes of a length in the 64-bit format
		if u.offSize == 8 {
			length64 = 8
		}
		u.strBase += 8 + length64
		u.rnglistsBase += 12 + length64
	}
	if u.skeletonUnit != nil {
		u.base = u.skeletonUnit.base
	}
}

// contribution holds the offsets of a unit and of its contributions to other sections. The latter are 0 in a file that is not a
// package.
type contribution struct {
	info                         int
	abbrev, strOffsets, rnglists uint64
}

// Section identifiers in the index (DWARF 5 §7.3.5.3). The GNU form has the same numbers for the ones that are read of it.
const (
	columnInfo       = 1
	columnAbbrev     = 3
	columnStrOffsets = 6
	columnRnglists   = 8
)

// findInPackage looks up a unit by its ID in the index of a package, .debug_cu_index (DWARF 5 §7.3.5.3; version 2 is the GNU form).
func (d *Data) findInPackage(id uint64) (at contribution, ok bool) {
	b := d.cuIndex.All()
	c := &bin.Cursor{B: b, Big: d.elf.Big}
	version, low := c.U16(), c.U16()
	if version == 0 { // in version 2 the field has four bytes
		version = low
	}
	columns, units, slots := uint64(c.U32()), uint64(c.U32()), uint64(c.U32())
	const header, maxColumns = 16, 16
	if !c.OK() || version != 2 && version != 5 || columns > maxColumns || slots == 0 || slots&(slots-1) != 0 ||
		header+12*slots+4*columns*(1+2*units) > uint64(len(b)) {
		return at, false
	}
	row, tries := uint64(0), 0
	defer func() { d.budget.Spend(tries) }()
	for i, step, left := id&(slots-1), id>>32&(slots-1)|1, slots; left > 0; i, left = (i+step)&(slots-1), left-1 {
		tries++
		signature, _ := bin.Uint(b, int(header+8*i), 8, d.elf.Big)
		n, _ := bin.Uint(b, int(header+8*slots+4*i), 4, d.elf.Big)
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
		column, _ := bin.Uint(b, table+4*i, 4, d.elf.Big)
		off, _ := bin.Uint(b, table+4*(int(row*columns)+i), 4, d.elf.Big)
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

// open returns the supplementary file, or nil if the file has none, or if it is not found or belongs to another build. It is opened
// once.
func (s *supplementary) open() *Data {
	s.once.Do(func() {
		f := s.of
		link, ok := f.supplementLink()
		if !ok || f.Opener == nil {
			return
		}
		paths := f.Opener.SupplementPaths(link.path, link.id)
		for _, path := range paths {
			other, err := f.Opener.Open(path, false)
			if err != nil {
				continue
			}
			if link.matches(other) {
				s.file = other
				return
			}
			f.Opener.Discard(other)
		}
		if len(paths) > 0 {
			f.missing.Store(true)
		}
	})
	return s.file
}

// supplementary is the supplementary file (DWARF 5 §7.3.6), which holds the common parts of several files. dwz creates it. It is
// opened lazily.
type supplementary struct {
	of   *Data
	once sync.Once
	file *Data
}

// supplementLink is the reference to a supplementary file.
type supplementLink struct {
	path     string
	id       []byte // its build ID or, if checksum is set, the checksum in its .debug_sup
	checksum bool
}

// supplementLink reads the section .debug_sup, or the older .gnu_debugaltlink: a path, a NUL, and a build ID.
func (d *Data) supplementLink() (link supplementLink, ok bool) {
	for i := range d.elf.Sections {
		sh := &d.elf.Sections[i]
		if sh.Name != ".gnu_debugaltlink" && sh.Name != ".debug_sup" {
			continue
		}
		b, _ := d.elf.Contents(sh)
		if sh.Name == ".debug_sup" {
			isSupplement, name, checksum := readSup(b, d.elf.Big)
			return supplementLink{string(name), checksum, true}, !isSupplement && len(name) > 0 && len(name) <= maxPath
		}
		name, id, found := bytes.Cut(b, []byte{0})
		return supplementLink{path: string(name), id: id}, found && len(id) > 0 && len(name) > 0 && len(name) <= maxPath
	}
	return link, false
}

// readSup reads .debug_sup (DWARF 5 §7.3.6): whether it is in the supplementary file, the name of that file, and its checksum.
func readSup(b []byte, big bool) (isSupplement bool, name, checksum []byte) {
	c := &bin.Cursor{B: b, Big: big}
	version := c.U16()
	isSupplement = c.U8() != 0
	name = c.CString()
	checksum = c.Bytes(c.ULEB())
	if !c.OK() || version != 5 {
		return false, nil, nil
	}
	return isSupplement, name, checksum
}

// matches reports whether s is the supplementary file that the link refers to.
func (l *supplementLink) matches(s *Data) bool {
	if !l.checksum {
		return s.elf.ID != "" && s.elf.ID == symsrc.BuildID(l.id)
	}
	for i := range s.elf.Sections {
		if sh := &s.elf.Sections[i]; sh.Name == ".debug_sup" {
			b, _ := s.elf.Contents(sh)
			isSupplement, _, checksum := readSup(b, s.elf.Big)
			return isSupplement && len(checksum) > 0 && bytes.Equal(checksum, l.id)
		}
	}
	return false
}
