package dwarf

import (
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
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

// row is one row of a line table, compact, for there are millions. What does not fit is unknown: file 0xffff, column 0.
type row struct {
	rel       uint32 // its address, from the start of the sequence
	line      uint32
	file, col uint16
}

const unknownFile = 0xffff

// sequence is a run of rows whose addresses grow, [first, last) of the table's rows.
type sequence struct {
	elf.Span
	first, last int32
}

// lineRows are the rows of a table. They do not change.
type lineRows struct {
	rows      []row
	sequences []sequence
	pieces    []functionSpan // where sequences cover an address twice: which is the one, by its number; nil otherwise
	byEnd     bool           // they are in the order of their ends: of those that end after an address llvm only looks at the first
}

// Opcodes of DWARF 5 §7.22.
const (
	lnsExtended       = 0
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsSetColumn      = 5
	lnsNegateStmt     = 6
	lnsSetBasicBlock  = 7
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lnsSetISA         = 12
	lneEndSequence    = 1
	lneSetAddress     = 2
	lneDefineFile     = 3
)

// lineSteps are the steps of the special opcodes, which nearly all units of a file share.
type lineSteps struct {
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	addr              [256]uint64
	line              [256]uint32
}

// lineStepsWeight is what steps take in memory, in bytes.
const lineStepsWeight = 256 * 12

// lineSteps finds or makes the steps for a line table.
func (r *recent) lineSteps(t *lineTable, left *budget.File) *lineSteps {
	if s := r.steps.Load(); s != nil && s.minInst == t.minInst && s.maxOps == t.maxOps &&
		s.lineBase == t.lineBase && s.lineRange == t.lineRange && s.opBase == t.opBase {
		return s
	}
	s := &lineSteps{minInst: t.minInst, maxOps: t.maxOps, lineBase: t.lineBase, lineRange: t.lineRange, opBase: t.opBase}
	for o := int(t.opBase); o < 256; o++ {
		n := o - int(t.opBase)
		s.addr[o] = uint64(n/int(t.lineRange)) * uint64(t.minInst)
		s.line[o] = uint32(int(t.lineBase) + n%int(t.lineRange))
	}
	left.Hold(lineStepsWeight)
	r.steps.Store(s)
	return s
}

// registers are those of the line number state machine (DWARF 5 §6.2.2) that matter here.
type registers struct {
	addr, opIndex uint64
	line          uint32
	file, col     uint16
	end           bool
}

// advance moves by whole operations, of which an instruction may hold several (DWARF 5 §6.2.5.1).
func (r *registers) advance(n uint64, t *lineTable) {
	if t.maxOps <= 1 {
		r.addr += n * uint64(t.minInst)
		return
	}
	n += r.opIndex
	r.addr += n / uint64(t.maxOps) * uint64(t.minInst)
	r.opIndex = n % uint64(t.maxOps)
}

// run performs the line number program of t. The registers that change with nearly every step are variables of their own.
func (t *lineTable) run(b []byte, s *rowSink) {
	initial := registers{file: 1, line: 1}
	r := initial
	addr, line, file, col := r.addr, r.line, r.file, r.col
	p, opBase, steps, plain := t.program, t.opBase, t.steps, t.maxOps <= 1
	for uint(p) < uint(len(b)) {
		o := b[p]
		p++
		var v uint64
		switch {
		case o >= opBase:
			line += steps.line[o]
			if addr += steps.addr[o]; !plain {
				r.addr = addr - steps.addr[o]
				r.advance(uint64((o-opBase)/t.lineRange), t)
				addr = r.addr
			}
			if s.next(addr, line, file, col) {
				continue
			}
		case o == lnsCopy:
		case o == lnsSetColumn:
			v, p = bin.ULEB(b, p)
			if col = uint16(v); v > 0xffff {
				col = 0
			}
			continue
		case o == lnsAdvanceLine:
			var n int64
			n, p = bin.SLEB(b, p)
			line += uint32(n)
			continue
		case o == lnsNegateStmt:
			continue
		case o == lnsSetFile:
			v, p = bin.ULEB(b, p)
			file = uint16(min(v, unknownFile))
			continue
		default:
			r.addr = addr
			p = t.step(o, b, p, &r, s)
			if addr = r.addr; !r.end {
				continue
			}
		}
		r.addr, r.line, r.file, r.col = addr, line, file, col
		if !s.add(&r) {
			return
		}
		if r.end {
			r = initial
			addr, line, file, col = r.addr, r.line, r.file, r.col
		}
	}
}

// step performs the rarer opcodes, which change nothing but the address, or end the sequence.
func (t *lineTable) step(o byte, b []byte, p int, r *registers, s *rowSink) int {
	var v uint64
	switch o {
	case lnsAdvancePC:
		v, p = bin.ULEB(b, p)
		r.advance(v, t)
	case lnsConstAddPC:
		r.advance(uint64((255-t.opBase)/t.lineRange), t)
	case lnsFixedAdvancePC:
		v, p = bin.Uint(b, p, 2, t.big)
		r.addr, r.opIndex = r.addr+v, 0
	case lnsExtended:
		p = t.extended(b, p, r, s)
	case lnsSetBasicBlock, lnsSetISA - 1, lnsSetISA - 2: // prologue end, epilogue begin
	default:
		for n := t.operands[o-1]; n > 0; n-- {
			p = bin.SkipLEB(b, p)
		}
	}
	return p
}

// extended performs the extended opcode whose length is at p.
func (t *lineTable) extended(b []byte, p int, r *registers, s *rowSink) int {
	n, p := bin.ULEB(b, p)
	next := bin.Skip(b, p, n)
	if next == bin.Past || n == 0 {
		return next
	}
	operand := p + 1
	switch b[p] {
	case lneEndSequence:
		r.end = true
	case lneSetAddress:
		if size := int(n) - 1; size == 2 || size == 4 || size == 8 {
			r.addr, _ = bin.Uint(b, operand, size, t.big)
			r.opIndex = 0
		}
	case lneDefineFile:
		s.define(operand, next)
	}
	return next
}
