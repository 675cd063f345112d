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

// unitTable holds the units of a file that were used, and their abbreviation tables.
type unitTable struct {
	mu      sync.Mutex
	read    map[int]*Unit // by offset; nil for a damaged unit
	abbrevs map[abbrevKey]*abbrevs

	walk    sync.Once
	offsets []int // of all units
}

// Unit is one unit of .debug_info. The data structures for lookups are built lazily while mu is locked, and read without it.
type Unit struct {
	unitRoot

	mu        sync.Mutex
	touched   atomic.Bool
	lines     atomic.Pointer[lineTable]
	functions [2]atomic.Pointer[functionIndex] // see functionAt
	compDir   atomic.Pointer[[]byte]
	split     atomic.Pointer[Unit] // see body

	namesMu sync.Mutex
	names   map[int]uint32 // numbers of names, by the offset of the entry

	details details
}

// unitRoot is the header and the root entry of a unit. It does not change.
type unitRoot struct {
	f *Data
	layout
	typ          uint8
	off, end     int // offsets of the unit and its end in .debug_info
	die          int // offset of the root entry
	abbrevs      *abbrevs
	tag          uint16
	root         attributes
	base         uint64 // base address of range lists
	dwoID        uint64 // of a skeleton and its split unit
	skeletonUnit *Unit  // the skeleton of a split unit; otherwise nil

	strBase, rnglistsBase, rnglistsStart uint64 // offsets of its contributions to .debug_str_offsets and .debug_rnglists
}

// readUnitHeader reads the header of the unit at off (DWARF 5 §7.5.1) into u, and returns the offset of its abbreviations. It returns
// false if the header is truncated or of an unknown version; u.end is then bin.Past or the offset of the next unit.
func (d *Data) readUnitHeader(u *unitRoot, off int) (abbrevs uint64, ok bool) {
	if off < 0 || off >= d.Info.Size {
		*u = unitRoot{f: d, off: off, end: bin.Past}
		return 0, false
	}
	return d.parseUnitHeader(u, off, d.Info.UpTo(off+64), off)
}

// parseUnitHeader is readUnitHeader for a header at b[p:].
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

// unitAt returns the unit whose header is at off, or nil if it is damaged.
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

// openUnitOf is openUnit for a unit of a package, or for a split unit.
func (d *Data) openUnitOf(at contribution, skeleton *Unit) *Unit {
	d.budget.Spend(1)
	d.budget.Hold(unitWeight)
	u := &Unit{}
	table, ok := d.readUnitHeader(&u.unitRoot, at.info)
	if !ok || d.Info.UpTo(u.end) == nil {
		return nil
	}
	u.abbrevs, u.skeletonUnit = d.abbrevsAt(abbrevKey{off: at.abbrev + table, layout: u.layout}), skeleton
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

// readRoot reads the attributes of the root entry, which begin at p. It returns false if they cannot be read.
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

// Memory, in bytes, of a unit with its line table, and of an abbreviation table without declarations.
const unitWeight, tableWeight = 1 << 10, 256

// bytes returns .debug_info up to the end of the unit, so that indexes are offsets in the section.
func (u *unitRoot) bytes() []byte { return u.f.Info.UpTo(u.end) }

// abbrevsAt returns an abbreviation table, which is shared by the units that refer to it.
func (d *Data) abbrevsAt(key abbrevKey) *abbrevs {
	d.units.mu.Lock()
	defer d.units.mu.Unlock()
	t := d.units.abbrevs[key]
	if t == nil {
		d.budget.Hold(tableWeight)
		t = newAbbrevs(d, key.off, d.lastUsed.formTable(key.layout))
		t.key = key
		d.units.abbrevs[key] = t
	}
	return t
}

// unitOffsets returns the offsets of all units in .debug_info, in order.
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

// unitOf returns the unit that contains the entry at off, or nil. In a package it returns nil, because the units there do not refer to
// each other.
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

// decl is a compiled abbreviation declaration. Like op, it contains no pointers, so that the garbage collector does not scan the many
// declarations.
type decl struct {
	tag      uint16 // 0 if it is not declared
	children bool
	// bodiless is set if the attributes say that it is a declaration, or the abstract form of an inlined function.
	bodiless bool
	// size is the size of all attributes, in bytes, if all forms have a fixed size; otherwise −1.
	size int32
	// sibling is the offset of a DW_AT_sibling of form ref4 after attributes of fixed size; otherwise −1.
	sibling int32
	// ops is the index in compiled.ops of reads operations that read the entry, none for tags that are never read, followed by
	// skips operations that skip it, none for an entry of fixed size.
	ops          uint32
	reads, skips uint16
}

// compiled is the compiled part of an abbreviation table. It does not change.
type compiled struct {
	decls []decl // by code, for codes without large gaps
	ops   []op
}

// abbrevs is an abbreviation table, compiled up to the last code that was used. Tables are shared by units and goroutines:
// declarations are only appended after those that a reader can see.
type abbrevs struct {
	f         *Data
	key       abbrevKey
	b         []byte // .debug_abbrev
	forms     *formTable
	published atomic.Pointer[compiled]

	mu     sync.Mutex
	p      int             // offset of the next declaration; bin.Past at the end
	sparse map[uint64]decl // the other codes, and those without a tag
	ops    []op
	skips  []op // of the declaration being compiled
}

// abbrevKey identifies an abbreviation table.
type abbrevKey struct {
	off          uint64 // in .debug_abbrev
	layout       layout
	declarations bool // what entries declare is read, too, in entries of all tags
}

func newAbbrevs(f *Data, off uint64, forms *formTable) *abbrevs {
	t := &abbrevs{f: f, b: f.abbrev.All(), forms: forms, p: bin.Past}
	if off < uint64(len(t.b)) {
		t.p = int(off)
	}
	t.published.Store(&nothing)
	return t
}

var (
	nothing    compiled
	undeclared = &decl{size: -1, sibling: -1}
)

// find returns the declaration of the code, or undeclared, and the compiled part of the table.
func (t *abbrevs) find(code uint64) (*decl, *compiled) {
	if c := t.published.Load(); code < uint64(len(c.decls)) && c.decls[code].tag != 0 {
		return &c.decls[code], c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.published.Load()
	if _, ok := t.sparse[code]; !ok && t.p != bin.Past && (code >= uint64(len(c.decls)) || c.decls[code].tag == 0) {
		decls := t.compile(c.decls, code)
		c = &compiled{decls, t.ops}
		t.published.Store(c)
	}
	if code < uint64(len(c.decls)) && c.decls[code].tag != 0 {
		return &c.decls[code], c
	}
	if d, ok := t.sparse[code]; ok {
		return &d, c
	}
	return undeclared, c
}

// abbrevMemory is memory to compile a table in. Its size is not known before, and most files have a small table for each unit.
type abbrevMemory struct {
	decls      []decl
	ops, skips []op
}

var abbrevMemories = sync.Pool{New: func() any { return new(abbrevMemory) }}

// compile compiles declarations up to that of the code and some more, which are likely to be needed soon: the whole table, unless it is
// unusually large. If a code is declared twice, the first declaration counts, no matter how much of the table was compiled before.
func (t *abbrevs) compile(all []decl, code uint64) []decl {
	const ahead = 256
	if all == nil && t.ops == nil {
		m := abbrevMemories.Get().(*abbrevMemory)
		defer abbrevMemories.Put(m)
		t.ops, t.skips = m.ops[:0], m.skips[:0]
		m.decls = t.compileAhead(m.decls[:0], code, ahead)
		m.ops, m.skips = t.ops, t.skips
		t.ops, t.skips = slices.Clone(m.ops), nil
		return slices.Clone(m.decls)
	}
	return t.compileAhead(all, code, ahead)
}

// compileAhead appends the declarations up to that of the code and that many more.
func (t *abbrevs) compileAhead(all []decl, code uint64, ahead int) []decl {
	start, end := t.p, t.p
	had, hadOps := len(all), len(t.ops)
	for found, more := false, ahead; t.p != bin.Past && (!found || more > 0); more-- {
		c, p := bin.ULEB(t.b, t.p)
		end = t.p
		if c == 0 {
			t.p = bin.Past
			break
		}
		d := t.decl(p)
		found = found || c == code
		switch _, twice := t.sparse[c]; {
		case twice:
		case d.tag == 0, c < uint64(len(all)):
			t.addSparse(c, d) // out of order, or declared twice
		case c < uint64(len(all))+64:
			for uint64(len(all)) < c {
				all = append(all, decl{})
			}
			all = append(all, d)
		default:
			t.addSparse(c, d)
		}
	}
	if t.p != bin.Past {
		end = t.p
	}
	t.f.budget.Spend(end - start)
	t.f.budget.Hold((len(all)-had)*declWeight + (len(t.ops)-hadOps)*opWeight)
	return all
}

// Memory, in bytes, of a declaration and an operation, including the spare capacity of slices.
const declWeight, opWeight = 48, 16

// addSparse adds a declaration that is not in compiled.decls.
func (t *abbrevs) addSparse(code uint64, d decl) {
	if t.sparse == nil {
		t.sparse = make(map[uint64]decl)
	}
	t.f.budget.Hold(2 * declWeight)
	t.sparse[code] = d
}

// decl compiles the declaration whose tag is at p, and sets t.p to the position after it.
func (t *abbrevs) decl(p int) decl {
	tag, p := bin.ULEB(t.b, p)
	children, p := bin.Uint(t.b, p, 1, false)
	d := decl{tag: uint16(min(tag, 0xffff)), children: children != 0, sibling: -1, ops: uint32(len(t.ops))}
	reads := t.key.declarations
	switch tag {
	case tagCompileUnit, tagPartialUnit, tagTypeUnit, tagSkeletonUnit, tagSubprogram, tagInlinedSubroutine:
		reads = true
	}
	if t.ops == nil {
		t.ops = make([]op, 0, 96)
	}
	first, skips, size := len(t.ops), t.skips[:0], 0
	var zeroSize zeroSizeOps
	for b := t.b; ; {
		var code, form uint64
		var implicit int64
		if uint(p)+1 < uint(len(b)) && b[p]|b[p+1] < 0x80 && b[p+1] != formImplicitConst {
			code, form = uint64(b[p]), uint64(b[p+1])
			p += 2
		} else {
			code, p = bin.ULEB(b, p)
			if form, p = bin.ULEB(b, p); form == formImplicitConst {
				implicit, p = bin.SLEB(b, p)
			}
		}
		if code == 0 && form == 0 || p == bin.Past {
			break
		}
		kind, n := t.forms.op(form)
		a := wantedAttr(code)
		if a == attrNone && (t.key.declarations || tag == tagSubprogram && (code == dwDeclFile || code == dwDeclLine)) {
			a = declaringAttr(code)
		}
		switch declaringAttr(code) {
		case attrDeclaration:
			d.bodiless = d.bodiless || form == formFlagPresent
		case attrInline:
			d.bodiless = true
		}
		if a == attrSibling && form == 0x13 && size >= 0 {
			d.sibling = int32(size)
		}
		if size += int(n); kind != opFixed || size < int(n) || size > 1<<30 {
			size = -1 << 31
		}
		skips = appendSkip(skips, 0, kind, n)
		if !reads {
			continue
		}
		switch {
		case a == attrNone || kind == opUnknown:
			t.ops = appendSkip(t.ops, first, kind, n)
		case form != formImplicitConst:
			t.ops = zeroSize.add(t.ops, kind == opFixed && n == 0, op{kind: opWanted, attr: a, form: uint16(form), n: numberSize(kind, n)})
		case implicit == int64(int32(implicit)):
			t.ops = zeroSize.add(t.ops, true, op{kind: opImplicit, attr: a, form: formImplicitConst, n: uint32(implicit)})
		}
	}
	t.p = p
	d.size = int32(max(size, -1))
	if t.skips = skips; d.size >= 0 {
		skips = nil
	}
	if n := len(t.ops) - first; n > 0xffff || len(skips) > 0xffff || len(t.ops) > 1<<30 {
		t.ops = t.ops[:first]
		return decl{}
	}
	d.reads, d.skips = uint16(len(t.ops)-first), uint16(len(skips))
	t.ops = append(t.ops, skips...)
	return d
}

// zeroSizeOps holds, for each attribute, the index plus 1 of an operation that reads no bytes of the entry, or 0. If a declaration
// repeats such an attribute, the new operation replaces the old one, because the last value counts. So the number of operations
// of an entry is proportional to its size, even if its declaration repeats constants.
type zeroSizeOps [attrCount]int

// add appends an operation. zeroSize is set if it reads no bytes.
func (e *zeroSizeOps) add(ops []op, zeroSize bool, o op) []op {
	switch at := e[o.attr]; {
	case !zeroSize:
		e[o.attr] = 0
	case at > 0:
		ops[at-1] = o
		return ops
	default:
		e[o.attr] = len(ops) + 1
	}
	return append(ops, o)
}

// read returns the operations that read an entry.
func (c *compiled) read(d *decl) []op { return c.ops[d.ops:][:d.reads] }

// skip returns the operations that skip an entry without a fixed size.
func (c *compiled) skip(d *decl) []op { return c.ops[d.ops+uint32(d.reads):][:d.skips] }

// numberSize returns the size of a number that can be read without knowing its form, or 0.
func numberSize(kind opKind, n uint32) uint32 {
	if kind == opFixed && n <= 8 {
		return n
	}
	return 0
}

// appendSkip appends an operation that skips a value, or extends the previous operation unless its index is below first.
func appendSkip(ops []op, first int, kind opKind, n uint32) []op {
	if kind == opFixed {
		if n == 0 {
			return ops
		}
		if k := len(ops) - 1; k >= first && ops[k].kind == opFixed && ops[k].n < 1<<30 {
			ops[k].n += n
			return ops
		}
	}
	return append(ops, op{kind: kind, n: n})
}

// Tags (DWARF 5 §7.5.3) that are used.
const (
	tagCatchBlock        = 0x25
	tagCompileUnit       = 0x11
	tagLexicalBlock      = 0x0b
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagWithStmt          = 0x22
	tagSubprogram        = 0x2e
	tagTryBlock          = 0x32
	tagNamespace         = 0x39
	tagPartialUnit       = 0x3c
	tagTypeUnit          = 0x41
	tagSkeletonUnit      = 0x4a
	tagGNUCallSite       = 0x4109
	tagLoUser            = 0x4080
)

// attr is the index in attributes of an attribute that is read.
type attr uint8

const (
	attrNone attr = iota
	attrSibling
	attrName
	attrLinkageName
	attrLowPC
	attrHighPC
	attrRanges
	attrOrigin
	attrSpecification
	attrCallFile
	attrCallLine
	attrCallColumn
	attrStmtList
	attrCompDir
	attrStrOffsetsBase
	attrAddrBase
	attrRnglistsBase
	attrDwoName
	attrDwoID
	attrRangesBase
	attrDeclFile // from here on they are only in tables with abbrevKey.declarations, but for the first two of functions
	attrDeclLine
	attrType
	attrLocation
	attrFrameBase
	attrByteSize
	attrElements // DW_AT_count
	attrLowerBound
	attrUpperBound
	attrDiscriminator
	attrTagOffset
	attrLoclistsBase
	attrDeclaration
	attrInline
	attrCount
)

// wanted maps the codes of attributes (DWARF 5 §7.5.4) to attr; attrNone are those that are skipped.
var wanted = [0x80]attr{0x01: attrSibling, 0x03: attrName, 0x6e: attrLinkageName, 0x11: attrLowPC, 0x12: attrHighPC,
	0x55: attrRanges, 0x31: attrOrigin, 0x47: attrSpecification, 0x58: attrCallFile, 0x59: attrCallLine, 0x57: attrCallColumn,
	0x10: attrStmtList, 0x1b: attrCompDir, 0x72: attrStrOffsetsBase, 0x73: attrAddrBase, 0x74: attrRnglistsBase, 0x76: attrDwoName}

func wantedAttr(code uint64) attr {
	switch {
	case code < uint64(len(wanted)):
		return wanted[code]
	case code == 0x2007: // DW_AT_MIPS_linkage_name
		return attrLinkageName
	case code == 0x2130: // DW_AT_GNU_dwo_name
		return attrDwoName
	case code == 0x2131: // DW_AT_GNU_dwo_id
		return attrDwoID
	case code == 0x2132: // DW_AT_GNU_ranges_base
		return attrRangesBase
	case code == 0x2133: // DW_AT_GNU_addr_base
		return attrAddrBase
	}
	return attrNone
}

// op is an operation on the attributes of an entry. One opFixed skips several consecutive attributes of fixed size.
type op struct {
	kind opKind
	attr attr
	form uint16
	n    uint32 // size in bytes, if it is fixed; for opImplicit the value, an int32
}
