package dwarf

import (
	"qss-filter/symsrc/budget"
	"sort"
)

// position is a place in the source.
type position struct {
	file, col uint16
	line      uint32
	approx    bool // the line is that of code before the address
}

// positionAt finds the row of the line table that covers the address; false where none does. scope is the start of the
// innermost function's code around it: a line 0 is replaced by the line of code of the same file between the two. first
// is set for a unit's first address, which is looked for without storing the rows.
func (t *lineTable) positionAt(addr, scope uint64, first bool) (position, bool) {
	u := t.u
	if first && t.rows.Load() == nil {
		u.f.budget.Spend(t.end - t.program)
		s := rowSink{f: u.f, pc: addr}
		t.run(u.f.line.UpTo(t.end), &s)
		if r := &s.hit; !s.found {
			return position{}, false
		} else if r.line != 0 && s.regular && !(s.low && u.f.rules.Overlaps) {
			return position{file: r.file, line: r.line, col: r.col}, true
		} // else only all rows tell
	}
	all := t.allRows()
	i := all.sequenceAt(addr)
	if i < 0 {
		return position{}, false
	}
	if u.f.rules.SkipLineZero {
		return all.sequences[i].linedAt(all.rows, addr, u.f.budget), true
	}
	return all.sequences[i].positionAt(all.rows, addr, scope, u.f.budget), true
}

// allRows returns all rows of the table.
func (t *lineTable) allRows() *lineRows {
	if all := t.rows.Load(); all != nil {
		return all
	}
	t.u.mu.Lock()
	defer t.u.mu.Unlock()
	if all := t.rows.Load(); all != nil {
		return all
	}
	return t.store(t.u.f, t.u.f.line.UpTo(t.end))
}

// sequenceAt is the number of the sequence that covers the address, or −1.
func (t *lineRows) sequenceAt(addr uint64) int {
	if t.byEnd {
		i := sort.Search(len(t.sequences), func(i int) bool { return t.sequences[i].Hi > addr })
		if i < len(t.sequences) && t.sequences[i].Covers(addr) {
			return i
		}
		return -1
	}
	if t.pieces != nil {
		i := sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].Hi > addr })
		if i < len(t.pieces) && t.pieces[i].Covers(addr) {
			return int(t.pieces[i].function)
		}
		return -1
	}
	i, j := 0, len(t.sequences)
	for i < j {
		if h := int(uint(i+j) >> 1); t.sequences[h].Lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 || addr >= t.sequences[i-1].Hi {
		return -1
	}
	return i - 1
}

// linedAt returns what llvm gives with --skip-line-zero: the last row with a line, of whatever file and function.
func (s *sequence) linedAt(rows []row, addr uint64, left *budget.File) position {
	at := s.rowAt(rows, addr)
	i, r := at, rows[at]
	for ; i >= int(s.first); i-- {
		if rows[i].line != 0 {
			r = rows[i]
			break
		}
	}
	left.Answer(at - i)
	return position{file: r.file, line: r.line, col: r.col}
}

// rowAt is the number of the row that covers the address.
func (s *sequence) rowAt(rows []row, addr uint64) int {
	rel := uint32(min(addr-s.Lo, 0xffffffff)) // the last row reaches as far as the sequence does
	i, j := int(s.first), int(s.last)
	for i < j {
		if h := int(uint(i+j) >> 1); rows[h].rel <= rel {
			i = h + 1
		} else {
			j = h
		}
	}
	return max(i-1, int(s.first))
}

func (s *sequence) positionAt(rows []row, addr, scope uint64, left *budget.File) position {
	i := s.rowAt(rows, addr)
	r, start := rows[i], i
	at := position{file: r.file, line: r.line, col: r.col}
	if r.line != 0 {
		return at
	}
	for end := s.Lo + uint64(r.rel); i > int(s.first) && end > scope; {
		i--
		if before := rows[i]; before.line != 0 && before.file == r.file {
			at.line, at.approx = before.line, true
			break
		}
		end = s.Lo + uint64(rows[i].rel)
	}
	left.Answer(start - i)
	return at
}

// lineAddr returns the address in line tables.
func (f *Data) lineAddr(addr uint64) uint64 {
	if f.rules.PlacedLines {
		return f.elf.Placed(addr, true)
	}
	return addr
}
