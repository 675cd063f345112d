package dwarf

import (
	"qss-filter/symsrc/bin"
	"sync/atomic"
)

// lineTable is the line number information of one unit (DWARF 5 §6.2). The header does not change; the rest is built when
// it is first asked for, under the unit's lock, and read without it.
type lineTable struct {
	lineHeader
	u     *Unit
	steps *lineSteps

	rows  atomic.Pointer[lineRows]
	paths atomic.Pointer[[]atomic.Pointer[sourceFile]] // by number, as far as asked for

	defined atomic.Pointer[[]definedFile] // by the program
}

// lineHeader is the header of a line table.
type lineHeader struct {
	layout
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	operands          []byte // of the standard opcodes
	program, end      int    // of the program, in .debug_line
	dirs, files       nameList
}

// Content types of DWARF 5 §6.2.4.1.
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
	lnctMD5            = 5
)

// lineTable returns the unit's line table; an empty one where it has none that can be read.
func (u *Unit) lineTable() *lineTable {
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
		t = &lineTable{u: u}
		t.rows.Store(&lineRows{})
	}
	u.lines.Store(t)
	return t
}

// readLineHeader reads the header of the line table at off (DWARF 5 §6.2.4); nil where it is damaged.
func (u *Unit) readLineHeader(off uint64) *lineTable {
	s := &u.f.line
	if off >= uint64(s.Size) {
		return nil
	}
	c := &bin.Cursor{B: s.UpTo(int(off) + 16), P: int(off), Big: u.big}
	n, offSize := c.Length()
	if !c.OK() || n > uint64(s.Size-c.P) {
		return nil
	}
	t := &lineTable{u: u}
	t.layout, t.end = u.layout, c.P+int(n)
	t.offSize = uint8(offSize)
	c.B = s.UpTo(t.end)
	t.version = c.U16()
	if t.version < 2 || t.version > 5 {
		return nil
	}
	if t.version >= 5 {
		t.addrSize = c.U8()
		c.Skip(1) // the size of a segment selector
	}
	headerLength := c.Uint(offSize)
	start := c.P
	t.minInst, t.maxOps = c.U8(), 1
	if t.version >= 4 {
		t.maxOps = c.U8()
	}
	c.Skip(1) // default_is_stmt
	t.lineBase, t.lineRange, t.opBase = int8(c.U8()), c.U8(), c.U8()
	if !c.OK() || t.lineRange == 0 || t.opBase == 0 || headerLength > uint64(t.end-start) {
		return nil
	}
	if t.operands = c.Bytes(uint64(t.opBase) - 1); !c.OK() {
		return nil
	}
	t.program = start + int(headerLength)
	if t.program > len(c.B) {
		return nil
	}
	c.B = c.B[:t.program]
	if t.version >= 5 {
		t.dirs.read(c, t.layout)
		t.dirs.pass(c, t.layout, u.f.budget)
		t.files.read(c, t.layout)
		u.f.budget.Hold((len(t.dirs.fields) + len(t.files.fields)) * fieldWeight)
	} else {
		t.dirs.p, t.dirs.first = c.P, 1
		for len(c.CString()) > 0 {
		}
		u.f.budget.Spend(min(c.P, len(c.B)) - t.dirs.p)
		t.files.p, t.files.first, t.files.numbers = c.P, 1, 3
	}
	t.steps = u.f.recent.lineSteps(t, u.f.budget)
	return t
}
