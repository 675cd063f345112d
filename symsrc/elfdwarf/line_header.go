package elfdwarf

import "sync/atomic"

// lineTable is the line number information of one unit (DWARF 5 §6.2). The header does not change; the rest is built when
// it is first asked for, under the unit's lock, and read without it.
type lineTable struct {
	layout
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	operands          []byte // of the standard opcodes
	program, end      int    // of the program, in .debug_line
	steps             *lineSteps
	dirs, files       nameList

	rows  atomic.Pointer[lineRows]
	paths atomic.Pointer[[]atomic.Pointer[sourceFile]] // by number, as far as asked for

	defined atomic.Pointer[[]definedFile] // by the program
}

// Content types of DWARF 5 §6.2.4.1.
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
	lnctMD5            = 5
)

// lineTableOf is the unit's line table; an empty one where it has none that can be read.
func (u *unit) lineTableOf() *lineTable {
	if t := u.lines.Load(); t != nil {
		return t
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.lines.Load()
	if t == nil && u.root.has(attrStmtList) {
		t = u.readLineHeader(u.root.v[attrStmtList])
	}
	if t == nil {
		t = &lineTable{}
		t.rows.Store(&lineRows{})
	}
	u.lines.Store(t)
	return t
}

// readLineHeader reads the header of the line table at off (DWARF 5 §6.2.4); nil where it is damaged.
func (u *unit) readLineHeader(off uint64) *lineTable {
	s := &u.f.line
	if off >= uint64(s.size) {
		return nil
	}
	c := &cursor{b: s.upTo(int(off) + 16), p: int(off), big: u.big}
	n, offSize := c.length()
	if !c.ok() || n > uint64(s.size-c.p) {
		return nil
	}
	t := &lineTable{layout: u.layout, end: c.p + int(n)}
	t.offSize = uint8(offSize)
	c.b = s.upTo(t.end)
	t.version = c.u16()
	if t.version < 2 || t.version > 5 {
		return nil
	}
	if t.version >= 5 {
		t.addrSize = c.u8()
		c.skip(1) // the size of a segment selector
	}
	headerLength := c.uint(offSize)
	start := c.p
	t.minInst, t.maxOps = c.u8(), 1
	if t.version >= 4 {
		t.maxOps = c.u8()
	}
	c.skip(1) // default_is_stmt
	t.lineBase, t.lineRange, t.opBase = int8(c.u8()), c.u8(), c.u8()
	if !c.ok() || t.lineRange == 0 || t.opBase == 0 || headerLength > uint64(t.end-start) {
		return nil
	}
	if t.operands = c.bytes(uint64(t.opBase) - 1); !c.ok() {
		return nil
	}
	t.program = start + int(headerLength)
	if t.program > len(c.b) {
		return nil
	}
	c.b = c.b[:t.program]
	if t.version >= 5 {
		t.nameList(&t.dirs, c)
		t.dirs.pass(c, t.layout, u.f.budget)
		t.nameList(&t.files, c)
		u.f.budget.hold((len(t.dirs.fields) + len(t.files.fields)) * fieldWeight)
	} else {
		t.dirs.p, t.dirs.first = c.p, 1
		for len(c.str()) > 0 {
		}
		u.f.budget.spend(min(c.p, len(c.b)) - t.dirs.p)
		t.files.p, t.files.first, t.files.numbers = c.p, 1, 3
	}
	t.steps = u.f.lineStepsFor(t)
	return t
}
