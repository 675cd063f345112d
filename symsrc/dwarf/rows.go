package dwarf

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// rowSink receives the rows of a line number program. It stores all of them, or searches for the row of an address and stops at the
// end of its sequence.
type rowSink struct {
	f    *Data
	keep bool
	rowLookup
	rowStore

	tombstone bool // a sequence begins at address 0 or 1, where linkers move discarded code
	unordered bool // addresses of the sequence decrease: which row covers an address depends on all of them
	open      bool // in a sequence
	dead      bool // the sequence was discarded by the linker, or is damaged
	start     uint64
	last      registers      // the previous row
	defined   *[]definedFile // if not nil: receives the files that the program defines
}

// rowLookup is the search for the row of an address.
type rowLookup struct {
	pc      uint64
	found   bool
	hit     registers // the row that covers pc
	ended   bool      // the sequence of hit has ended
	regular bool      // the other rows of that sequence do not matter
}

// rowStore holds all rows.
type rowStore struct {
	rows      []row
	first     int // index of the first row of the sequence
	sequences []sequence
	room      int // about how many rows the budget allows; a sequence counts as two
	limits    *budget.File
}

// Memory, in bytes, of a row and of a sequence.
const rowWeight, sequenceWeight = 12, 24

// grow is called before the memory of rows or sequences grows.
func (s *rowSink) grow() {
	if len(s.rows)+2*len(s.sequences) > s.room {
		s.limits.Hold(len(s.rows)*rowWeight + len(s.sequences)*sequenceWeight) // panics, unless more memory is available by now
	}
}

// scratch holds the memory of programs whose rows are stored.
var scratch = sync.Pool{New: func() any { return new(rowSink) }}

// add adds a row and reports whether to continue.
func (s *rowSink) add(r *registers) bool {
	switch {
	case !s.open:
		s.open, s.start, s.dead, s.unordered, s.first = true, r.addr, s.f.addressing.IsTombstone(r.addr), false, len(s.rows)
		s.tombstone = s.tombstone || r.addr <= 1
	case s.keep || s.dead:
	case r.addr < s.last.addr:
		s.unordered = true
	case !s.found && s.last.addr <= s.pc && s.pc < r.addr:
		s.found, s.hit = true, s.last
	}
	switch {
	case r.end:
		s.open = false
		if s.keep {
			s.close(r.addr)
		}
		if s.found && !s.ended {
			s.ended, s.regular = true, !s.unordered && s.last.addr-s.start <= 0xffffffff
		}
		return !s.found || s.f.rules.Overlaps
	case s.keep:
		s.store(r)
	default:
		s.last = *r
	}
	return true
}

// addSpecial is a fast path of add for the row of a special opcode, in a sequence whose rows are stored. Otherwise it does nothing and
// returns false.
func (s *rowSink) addSpecial(addr uint64, line uint32, file, col uint16) bool {
	rel, k := addr-s.start, len(s.rows)-1
	if !s.keep || !s.open || rel > 0xffffffff || k < s.first {
		return false
	}
	last := &s.rows[k]
	switch {
	case last.rel == uint32(rel):
		last.line, last.file, last.col = line, file, col
	case last.line != line || last.file != file || last.col != col:
		if len(s.rows) == cap(s.rows) {
			s.grow()
		}
		s.rows = append(s.rows, row{uint32(rel), line, file, col})
	}
	return true
}

// store appends a row.
func (s *rowSink) store(r *registers) {
	rel := r.addr - s.start
	if rel > 0xffffffff { // before the start, or too far after it
		s.dead = true
		return
	}
	n := row{rel: uint32(rel), line: r.line, file: r.file, col: r.col}
	if len(s.rows) > s.first {
		last := &s.rows[len(s.rows)-1]
		if last.rel == n.rel {
			*last = n // of several rows at one address, the last one counts
			return
		}
		if last.line == n.line && last.file == n.file && last.col == n.col {
			return
		}
	}
	if len(s.rows) == cap(s.rows) {
		s.grow()
	}
	s.rows = append(s.rows, n)
}

// close ends a sequence, and removes it if it covers no addresses.
func (s *rowSink) close(hi uint64) {
	if s.dead || hi <= s.start || len(s.rows) == s.first {
		s.rows = s.rows[:s.first]
		return
	}
	if len(s.sequences) == cap(s.sequences) {
		s.grow()
	}
	s.sequences = append(s.sequences, sequence{elf.Span{Lo: s.start, Hi: hi}, int32(s.first), int32(len(s.rows))})
}

// definedFile is the position of the operands of a DW_LNE_define_file (DWARF 4 §6.2.5.3), and their end.
type definedFile struct{ at, end int }

// define adds a file that the program defines.
func (s *rowSink) define(at, end int) {
	if s.defined != nil {
		*s.defined = append(*s.defined, definedFile{at, end})
	}
}

// definedWeight is the memory of a defined file, in bytes.
const definedWeight = 32

// definedFile returns the nth file that the program defines, or a zero fileEntry. The program is run once to find all of them, because
// few programs define any.
func (t *lineTable) definedFile(nth uint64) (e fileEntry) {
	u := t.u
	b := u.f.line.UpTo(t.end)
	all := t.defined.Load()
	if all == nil {
		all = new([]definedFile)
		u.f.budget.Spend(t.end - t.program)
		t.run(b, &rowSink{f: u.f, rowLookup: rowLookup{pc: ^uint64(0)}, defined: all}) // no row covers this address
		u.f.budget.Hold(len(*all) * definedWeight)
		t.defined.Store(all)
	}
	if nth >= uint64(len(*all)) {
		return e
	}
	d := (*all)[nth]
	c := &bin.Cursor{B: b[:d.end], P: d.at}
	if e = (fileEntry{name: c.CString(), dir: c.ULEB()}); !c.OK() {
		return fileEntry{}
	}
	return e
}

// store runs the whole program, and stores and returns its rows. The unit is locked.
func (t *lineTable) store(f *Data, b []byte) *lineRows {
	all := t.storeWith(f, b, t.run)
	t.rows.Store(all)
	return all
}

// storeWith returns the rows that run adds.
func (t *lineTable) storeWith(f *Data, b []byte, run func([]byte, *rowSink)) *lineRows {
	s := scratch.Get().(*rowSink)
	defer scratch.Put(s)
	f.budget.Spend(t.end - t.program)
	*s = rowSink{f: f, keep: true, rowStore: rowStore{rows: s.rows[:0], sequences: s.sequences[:0], limits: f.budget, room: int(f.budget.Room() / rowWeight)}}
	run(b, s)
	if s.open {
		s.rows = s.rows[:s.first]
	}
	f.budget.Hold(len(s.rows)*rowWeight + len(s.sequences)*sequenceWeight)
	all := &lineRows{rows: slices.Clone(s.rows), sequences: slices.Clone(s.sequences)}
	sorted := slices.Clone(s.sequences)
	slices.SortStableFunc(sorted, func(a, b sequence) int { return cmp.Compare(a.Lo, b.Lo) })
	overlap := false
	for i := 1; i < len(sorted); i++ {
		overlap = overlap || sorted[i].Lo < sorted[i-1].Hi
	}
	switch all.byEnd = overlap && f.rules.Overlaps; {
	case !overlap:
		all.sequences = sorted
	case all.byEnd:
		slices.SortStableFunc(all.sequences, func(a, b sequence) int { return cmp.Compare(a.Hi, b.Hi) })
	default:
		all.pieces = firstSequences(all.sequences, &f.addressing, f.budget)
	}
	s.f, s.limits = nil, nil
	f.hooks.Consumed(t.end - t.program)
	return all
}

// firstSequences returns, for the ranges covered by sequences, the first sequence in the file that covers them. The field function
// is the index of the sequence.
func firstSequences(sequences []sequence, in *elf.Addressing, limits *budget.File) []functionSpan {
	last := int32(len(sequences) - 1)
	limits.Hold(len(sequences) * spanWeight)
	spans := make([]functionSpan, len(sequences))
	for i, s := range sequences {
		spans[i] = functionSpan{Span: s.Span, function: last - int32(i)} // reversed, because the last function counts
	}
	spans = disjointFunctions(withoutDiscarded(in, spans, (*functionSpan).owned), limits)
	for i := range spans {
		spans[i].function = last - spans[i].function
	}
	return spans
}

// position is a source position.
type position struct {
	file, col uint16
	line      uint32
	approx    bool // the line is that of code before the address
}

// positionAt returns the position in the line table that covers the address, or false. scope is the start of the range of the
// innermost function around the address: line 0 is replaced with the line of an earlier row of the same file that is not before
// scope. With first set, for the first address of a unit, the rows are not stored.
func (t *lineTable) positionAt(addr, scope uint64, first bool) (position, bool) {
	u := t.u
	if first && t.rows.Load() == nil {
		u.f.budget.Spend(t.end - t.program)
		s := rowSink{f: u.f, rowLookup: rowLookup{pc: addr}}
		t.run(u.f.line.UpTo(t.end), &s)
		if r := &s.hit; !s.found {
			return position{}, false
		} else if r.line != 0 && s.regular && !(s.tombstone && (u.f.rules.Overlaps || u.f.addressing.IsDoubtful(0))) {
			return position{file: r.file, line: r.line, col: r.col}, true
		} // otherwise the answer depends on all rows
	}
	all := t.allRows()
	i := all.sequenceAt(addr)
	if i < 0 {
		return position{}, false
	}
	if u.f.rules.SkipLineZero {
		return all.sequences[i].lastLineAt(all.rows, addr, u.f.budget), true
	}
	return all.sequences[i].positionAt(all.rows, addr, scope, u.f.budget), true
}

// allRows returns all rows of the table. The first call runs the program.
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

// sequenceAt returns the index of the sequence that covers the address, or −1.
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

// lastLineAt returns the position that llvm prints with --skip-line-zero: that of the last row with a line other than 0, also if it
// belongs to another file or function.
func (s *sequence) lastLineAt(rows []row, addr uint64, limits *budget.File) position {
	at := s.rowAt(rows, addr)
	i, r := at, rows[at]
	for ; i >= int(s.first); i-- {
		if rows[i].line != 0 {
			r = rows[i]
			break
		}
	}
	limits.Answer(at - i)
	return position{file: r.file, line: r.line, col: r.col}
}

// rowAt returns the index of the row that covers the address.
func (s *sequence) rowAt(rows []row, addr uint64) int {
	rel := uint32(min(addr-s.Lo, 0xffffffff)) // the last row reaches to the end of the sequence
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

// positionAt is lineTable.positionAt for an address of the sequence.
func (s *sequence) positionAt(rows []row, addr, scope uint64, limits *budget.File) position {
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
	limits.Answer(start - i)
	return at
}

// lineAddr returns the address to look up in line tables.
func (d *Data) lineAddr(addr uint64) uint64 {
	if d.rules.PlacedLines {
		return d.elf.Placed(addr, true)
	}
	return addr
}
