package elfdwarf

import (
	"cmp"
	"slices"
	"sync"
)

// rowSink takes the rows of a program. It is either asked for the row at an address, and stops at the end of its sequence, or
// keeps all.
type rowSink struct {
	f         *File
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
	nth       int // how many files the program defines before the one that is wanted
	file      fileEntry
}

// scratch keeps the memory of programs that are run for keeps.
var scratch = sync.Pool{New: func() any { return new(rowSink) }}

// add takes a row and tells whether to go on.
func (s *rowSink) add(r *registers) bool {
	switch {
	case !s.open:
		s.open, s.start, s.dead, s.odd, s.first = true, r.addr, s.f.dead(r.addr), false, len(s.rows)
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
		return !s.found || s.f.asLLVM
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

// define takes a file that the program defines (DWARF 4 §6.2.5.3).
func (s *rowSink) define(f fileEntry) {
	if s.nth == 0 {
		s.file = f
	}
	s.nth--
}

// defined is the nth file that the program defines; nothing where there is none. The program is run for it: few have any.
func (t *lineTable) defined(f *File, nth uint64) fileEntry {
	if nth >= unknownFile {
		return fileEntry{}
	}
	s := rowSink{f: f, pc: ^uint64(0), nth: int(nth)} // no row goes beyond the last address
	t.run(f.line.upTo(t.end), &s)
	return s.file
}

// store runs the whole program and gives its rows. They are kept, unless a hostile file makes that too many. The unit is
// locked.
func (t *lineTable) store(f *File, b []byte) *lineRows {
	s := scratch.Get().(*rowSink)
	defer scratch.Put(s)
	*s = rowSink{f: f, keep: true, rows: s.rows[:0], sequences: s.sequences[:0]}
	t.run(b, s)
	if s.open {
		s.rows = s.rows[:s.first]
	}
	all := &lineRows{rows: slices.Clone(s.rows), sequences: slices.Clone(s.sequences)}
	sorted := slices.Clone(s.sequences)
	slices.SortStableFunc(sorted, func(a, b sequence) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(sorted); i++ {
		all.overlap = all.overlap || sorted[i].lo < sorted[i-1].hi
	}
	if all.byEnd = all.overlap && f.asLLVM; all.byEnd {
		slices.SortStableFunc(all.sequences, func(a, b sequence) int { return cmp.Compare(a.hi, b.hi) })
	}
	if !all.overlap {
		all.sequences = sorted
	}
	s.f, s.file = nil, fileEntry{}
	if f.rowBudget.Load() >= 0 {
		f.rowBudget.Add(-int64(len(s.rows)))
		t.rows.Store(all)
	}
	f.mapped(t.end - t.program)
	return all
}
