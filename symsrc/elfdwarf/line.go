package elfdwarf

import (
	"cmp"
	"slices"
	"sync"
)

// row is one row of a line table, compact, for there are millions. What does not fit is unknown: file 0xffff, column 0.
type row struct {
	rel       uint32 // its address, from the start of the sequence
	line      uint32
	file, col uint16
}

const unknownFile = 0xffff

// sequence is a run of rows whose addresses grow, [first, last) of the table's rows.
type sequence struct {
	span
	first, last int32
}

// lineRows are the rows of a table. They do not change.
type lineRows struct {
	rows      []row
	sequences []sequence
	overlap   bool        // sequences cover an address twice; then they stay in the file's order
	defined   []fileEntry // files that the program defines, behind those of the header
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

// lineStepsFor finds or makes the steps for a line table.
func (f *File) lineStepsFor(t *lineTable) *lineSteps {
	if s := f.steps.Load(); s != nil && s.minInst == t.minInst && s.maxOps == t.maxOps &&
		s.lineBase == t.lineBase && s.lineRange == t.lineRange && s.opBase == t.opBase {
		return s
	}
	s := &lineSteps{minInst: t.minInst, maxOps: t.maxOps, lineBase: t.lineBase, lineRange: t.lineRange, opBase: t.opBase}
	for o := int(t.opBase); o < 256; o++ {
		n := o - int(t.opBase)
		s.addr[o] = uint64(n/int(t.lineRange)) * uint64(t.minInst)
		s.line[o] = uint32(int(t.lineBase) + n%int(t.lineRange))
	}
	f.steps.Store(s)
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

// special performs one special opcode.
func (r *registers) special(o byte, t *lineTable) {
	r.line += t.steps.line[o]
	if t.maxOps <= 1 {
		r.addr += t.steps.addr[o]
		return
	}
	r.advance(uint64((o-t.opBase)/t.lineRange), t)
}

// rowSink takes the rows of a program. It is either asked for the row at an address, and stops there, or keeps all.
type rowSink struct {
	f         *File
	keep      bool
	pc        uint64 // the address asked for
	found     bool
	open      bool // in a sequence
	dead      bool // which the linker dropped
	start     uint64
	last      registers // the row before
	rows      []row
	first     int
	sequences []sequence
	defined   []fileEntry
}

// scratch keeps the memory of programs that are run for keeps.
var scratch = sync.Pool{New: func() any { return new(rowSink) }}

// add takes a row and tells whether to go on.
func (s *rowSink) add(r *registers) bool {
	if !s.open {
		s.open, s.start, s.dead, s.first = true, r.addr, s.f.dead(r.addr), len(s.rows)
	} else if !s.keep && s.last.addr <= s.pc && s.pc < r.addr && !s.dead {
		s.found = true
		return false
	}
	switch {
	case r.end:
		s.open = false
		if s.keep {
			s.close(r.addr)
		}
	case s.keep:
		s.store(r)
	default:
		s.last = *r
	}
	return true
}

func (s *rowSink) store(r *registers) {
	rel := r.addr - s.start
	if rel > 0xffffffff { // goes backwards, or is of no use
		s.dead = true
		return
	}
	n := row{rel: uint32(rel), line: r.line, file: r.file, col: r.col}
	if len(s.rows) > s.first {
		last := &s.rows[len(s.rows)-1]
		if last.rel == n.rel {
			*last = n // of several rows at one address the last one holds
			return
		}
		if last.line == n.line && last.file == n.file && last.col == n.col {
			return
		}
	}
	s.rows = append(s.rows, n)
}

// close ends a sequence and drops it where it covers nothing.
func (s *rowSink) close(hi uint64) {
	if s.dead || hi <= s.start || len(s.rows) == s.first {
		s.rows = s.rows[:s.first]
		return
	}
	s.sequences = append(s.sequences, sequence{span{s.start, hi}, int32(s.first), int32(len(s.rows))})
}

// run performs the line number program of t.
func (t *lineTable) run(b []byte, s *rowSink) {
	initial := registers{file: 1, line: 1}
	r := initial
	p, opBase := t.program, t.opBase
	for uint(p) < uint(len(b)) {
		o := b[p]
		p++
		if o >= opBase {
			r.special(o, t)
			if !s.add(&r) {
				return
			}
			continue
		}
		var v uint64
		switch o {
		case lnsCopy:
			if !s.add(&r) {
				return
			}
		case lnsAdvancePC:
			v, p = uleb(b, p)
			r.advance(v, t)
		case lnsAdvanceLine:
			var n int64
			n, p = sleb(b, p)
			r.line += uint32(n)
		case lnsSetFile:
			v, p = uleb(b, p)
			r.file = uint16(min(v, unknownFile))
		case lnsSetColumn:
			v, p = uleb(b, p)
			if r.col = uint16(v); v > 0xffff {
				r.col = 0
			}
		case lnsConstAddPC:
			r.advance(uint64((255-opBase)/t.lineRange), t)
		case lnsFixedAdvancePC:
			v, p = fixed(b, p, 2, t.big)
			r.addr, r.opIndex = r.addr+v, 0
		case lnsExtended:
			p = t.extended(b, p, &r, s)
			if r.end {
				if !s.add(&r) {
					return
				}
				r = initial
			}
		case lnsNegateStmt, lnsSetBasicBlock, lnsSetISA - 1, lnsSetISA - 2: // prologue end, epilogue begin
		default:
			for n := t.operands[o-1]; n > 0; n-- {
				p = skipLEB(b, p)
			}
		}
	}
}

// extended performs the extended opcode whose length stands at p.
func (t *lineTable) extended(b []byte, p int, r *registers, s *rowSink) int {
	n, p := uleb(b, p)
	next := skipBytes(b, p, n)
	if next == past || n == 0 {
		return next
	}
	operand := p + 1
	switch b[p] {
	case lneEndSequence:
		r.end = true
	case lneSetAddress:
		if size := int(n) - 1; size == 2 || size == 4 || size == 8 {
			r.addr, _ = fixed(b, operand, size, t.big)
			r.opIndex = 0
		}
	case lneDefineFile:
		c := &cursor{b: b[:next], p: operand}
		if f := (fileEntry{c.str(), c.uleb()}); c.ok() {
			s.defined = append(s.defined, f)
		}
	}
	return next
}

// store runs the whole program and keeps its rows. The unit is locked.
func (t *lineTable) store(f *File, b []byte) *lineRows {
	s := scratch.Get().(*rowSink)
	defer scratch.Put(s)
	*s = rowSink{f: f, keep: true, rows: s.rows[:0], sequences: s.sequences[:0]}
	t.run(b, s)
	if s.open {
		s.rows = s.rows[:s.first]
	}
	f.rowBudget.Add(-int64(len(s.rows)))
	all := &lineRows{rows: slices.Clone(s.rows), sequences: slices.Clone(s.sequences), defined: s.defined}
	sorted := slices.Clone(s.sequences)
	slices.SortStableFunc(sorted, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(sorted); i++ {
		all.overlap = all.overlap || sorted[i].lo < sorted[i-1].hi
	}
	if !all.overlap {
		all.sequences = sorted
	}
	s.f, s.defined = nil, nil
	t.rows.Store(all)
	return all
}
