package dwarf

import (
	"cmp"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"slices"
	"sync"
)

// rowSink takes the rows of a program. It is either asked for the row at an address, and stops at the end of its sequence, or
// keeps all.
type rowSink struct {
	f         *Data
	keep      bool
	pc        uint64 // the address asked for
	found     bool
	hit       registers // the row at it
	ended     bool      // so has its sequence
	regular   bool      // and that tells all by itself
	low       bool      // there is a sequence where linkers put what they drop
	odd       bool      // addresses have gone backwards in the sequence: only the table as a whole tells what holds
	open      bool      // in a sequence
	dead      bool      // which the linker dropped
	start     uint64
	last      registers // the row before
	rows      []row
	first     int
	sequences []sequence
	room      int            // for how many rows and sequences there is room, about
	defined   *[]definedFile // if not nil: takes the files that the program defines
	left      *budget.File
}

// What a row and a sequence take in memory, in bytes.
const rowWeight, sequenceWeight = 12, 24

// grow is for the time before rows or sequences take more memory.
func (s *rowSink) grow() {
	if len(s.rows)+2*len(s.sequences) > s.room {
		s.left.Hold(len(s.rows)*rowWeight + len(s.sequences)*sequenceWeight) // which is too much, unless others gave some back
	}
}

// scratch keeps the memory of programs that are run for keeps.
var scratch = sync.Pool{New: func() any { return new(rowSink) }}

// add takes a row and tells whether to go on.
func (s *rowSink) add(r *registers) bool {
	switch {
	case !s.open:
		s.open, s.start, s.dead, s.odd, s.first = true, r.addr, s.f.Dead(r.addr), false, len(s.rows)
		s.low = s.low || r.addr <= 1
	case s.keep || s.dead:
	case r.addr < s.last.addr:
		s.odd = true
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
			s.ended, s.regular = true, !s.odd && s.last.addr-s.start <= 0xffffffff
		}
		return !s.found || s.f.rules.Overlaps
	case s.keep:
		s.store(r)
	default:
		s.last = *r
	}
	return true
}

// next takes the row of a special opcode where that is quick: in a sequence, when all rows are kept. Else it is false.
func (s *rowSink) next(addr uint64, line uint32, file, col uint16) bool {
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
	if len(s.rows) == cap(s.rows) {
		s.grow()
	}
	s.rows = append(s.rows, n)
}

// close ends a sequence and drops it where it covers nothing.
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

// definedFile is where a file stands that the program defines (DWARF 4 §6.2.5.3), up to the end of its operation.
type definedFile struct{ at, end int }

// define takes a file that the program defines.
func (s *rowSink) define(at, end int) {
	if s.defined != nil {
		*s.defined = append(*s.defined, definedFile{at, end})
	}
}

// definedWeight is what a defined file takes in memory, in bytes.
const definedWeight = 32

// definedFile returns the nth file that the program defines; nothing where there is none. The program is run once for all of them: few
// have any.
func (t *lineTable) definedFile(nth uint64) (e fileEntry) {
	u := t.u
	b := u.f.line.UpTo(t.end)
	all := t.defined.Load()
	if all == nil {
		all = new([]definedFile)
		u.f.budget.Spend(t.end - t.program)
		t.run(b, &rowSink{f: u.f, pc: ^uint64(0), defined: all}) // no row goes beyond the last address
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

// store runs the whole program and returns its rows, which are kept. The unit is locked.
func (t *lineTable) store(f *Data, b []byte) *lineRows {
	s := scratch.Get().(*rowSink)
	defer scratch.Put(s)
	f.budget.Spend(t.end - t.program)
	*s = rowSink{f: f, keep: true, rows: s.rows[:0], sequences: s.sequences[:0], left: f.budget, room: int(f.budget.Room() / rowWeight)}
	t.run(b, s)
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
		all.pieces = firstOf(all.sequences, f.budget)
	}
	s.f, s.left = nil, nil
	t.rows.Store(all)
	f.Touched(t.end - t.program)
	return all
}

// firstOf says for all addresses which sequence covers them first, in the file's order.
func firstOf(sequences []sequence, left *budget.File) []functionSpan {
	last := int32(len(sequences) - 1)
	left.Hold(len(sequences) * spanWeight)
	spans := make([]functionSpan, len(sequences))
	for i, s := range sequences {
		spans[i] = functionSpan{Span: s.Span, function: last - int32(i)} // of functions the last one counts
	}
	spans = settleFunctions(spans, left)
	for i := range spans {
		spans[i].function = last - spans[i].function
	}
	return spans
}
