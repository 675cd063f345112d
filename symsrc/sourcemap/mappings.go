package sourcemap

import (
	"cmp"
	"errors"
	"slices"
	"sort"
)

// segment is one mapping: the generated code from a column on comes from a place of a source, −1 for none.
type segment struct {
	generatedLine, generatedColumn int32
	source, line, column, name     int32
}

// point is a place in the mappings with what was decoded up to there: the values of the last segment before it, from which the next one
// counts.
type point struct {
	at   int
	last state
}

// state is what a segment counts from. The columns of generated code begin anew in each line.
type state struct {
	segment
	// disordered is set if a segment does not begin after the one before it.
	disordered bool
	// any is set if the line has a segment already, and mapped if that has a source. comma is set where a segment must follow.
	any, mapped, named, comma bool
}

// pointEvery is how far points are apart, in bytes. A search decodes that much.
const pointEvery = 512

var (
	errMapping = errors.New("a mapping is malformed")
	errOrder   = errors.New("too many mappings, which are not in order")
	errSource  = errors.New("a mapping has what is no source, or no name")
)

// digits are the values of base64's digits, 64 for other bytes.
var digits = func() (of [256]byte) {
	for i := range of {
		of[i] = 64
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		of[c] = byte(i)
	}
	return of
}()

// number decodes the variable-length number at text[i:].
func number(text []byte, i int) (n int32, end int, ok bool) {
	var v uint64
	for shift := 0; i < len(text); shift = min(shift+5, 35) {
		d := digits[text[i]]
		if d == 64 || shift > 30 && d&31 != 0 {
			return 0, i, false
		}
		v |= uint64(d&31) << shift
		if i++; d&32 == 0 {
			if v > 1<<32 {
				return 0, i, false
			}
			if v&1 != 0 {
				return -int32(v >> 1), i, v>>1 <= 1<<31
			}
			return int32(v >> 1), i, v>>1 < 1<<31
		}
	}
	return 0, i, false
}

// next decodes what stands at text[i:], one segment or the end of a line, into s. is reports whether that was a segment.
func next(text []byte, i int, s *state) (end int, is bool, err error) {
	switch text[i] {
	case ';':
		if s.comma {
			return i, false, errMapping
		}
		s.generatedLine++
		s.generatedColumn, s.any, s.mapped = 0, false, false
		return i + 1, false, nil
	case ',':
		if !s.any || s.comma {
			return i, false, errMapping
		}
		s.comma = true
		return i + 1, false, nil
	}
	s.comma = false
	var fields [5]int32
	n := 0
	for i < len(text) && text[i] != ',' && text[i] != ';' {
		if n == len(fields) {
			return i, false, errMapping
		}
		if d := digits[text[i]]; d < 32 { // most numbers have one digit
			fields[n] = (int32(d>>1) ^ -int32(d&1)) + int32(d&1)
			i++
		} else {
			var ok bool
			if fields[n], i, ok = number(text, i); !ok {
				return i, false, errMapping
			}
		}
		n++
	}
	if n != 1 && n != 4 && n != 5 {
		return i, false, errMapping
	}
	column := s.generatedColumn + fields[0]
	if column < 0 {
		return i, false, errMapping
	}
	s.disordered = s.disordered || column < s.generatedColumn && s.any
	s.generatedColumn, s.any, s.mapped, s.named = column, true, n > 1, n > 4
	s.source += fields[1]
	s.line += fields[2]
	s.column += fields[3]
	s.name += fields[4]
	if n > 1 && (s.source < 0 || s.line < 0 || s.column < 0) || s.name < 0 {
		return i, false, errMapping
	}
	return i, true, nil
}

// check decodes all mappings, and notes some of their places.
func (m *Map) check(names int) error {
	var s state
	last := -pointEvery
	for i := 0; i < len(m.mappings); {
		if i-last >= pointEvery {
			m.points = append(m.points, point{i, s})
			last = i
		}
		end, is, err := next(m.mappings, i, &s)
		if err != nil {
			return err
		}
		if is && (s.mapped && int(s.source) >= len(m.sources) || s.named && int(s.name) >= names) {
			return errSource
		}
		i = end
	}
	if s.comma {
		return errMapping
	}
	if s.disordered {
		return m.sort()
	}
	return nil
}

// maxSorted bounds the segments of a map whose lines are not in order.
const maxSorted = 1 << 21

// sort decodes the mappings of a map whose lines are not in order: their deltas may be negative.
func (m *Map) sort() error {
	var s state
	for i := 0; i < len(m.mappings); {
		end, is, err := next(m.mappings, i, &s)
		if err != nil {
			return err
		}
		if is {
			if len(m.sorted) >= maxSorted {
				return errOrder
			}
			m.sorted = append(m.sorted, s.place())
		}
		i = end
	}
	slices.SortStableFunc(m.sorted, func(a, b segment) int { return a.compare(b.generatedLine, b.generatedColumn) })
	m.mappings, m.points = nil, nil
	return nil
}

// place returns the last segment, whose source is -1 if it has none.
func (s *state) place() segment {
	at := s.segment
	if !s.mapped {
		at.source = -1
	}
	return at
}

// compare compares where a segment begins with a place.
func (s *segment) compare(line, column int32) int {
	return cmp.Or(cmp.Compare(s.generatedLine, line), cmp.Compare(s.generatedColumn, column))
}

// find returns the last segment of a line that begins at a column or before it; of several at one column the first. Its source is −1 if
// that comes from none. ok is false if there is no such segment.
func (m *Map) find(line, column int32) (found segment, ok bool) {
	if m.sorted != nil {
		i := sort.Search(len(m.sorted), func(i int) bool { return m.sorted[i].compare(line, column) > 0 })
		if i == 0 || m.sorted[i-1].generatedLine != line {
			return found, false
		}
		for i > 1 && m.sorted[i-2].compare(line, m.sorted[i-1].generatedColumn) == 0 {
			i--
		}
		return m.sorted[i-1], true
	}
	at := sort.Search(len(m.points), func(i int) bool {
		s := &m.points[i].last
		return s.generatedLine > line || s.generatedLine == line && s.generatedColumn >= column && s.any
	})
	if at == 0 {
		if len(m.points) == 0 {
			return found, false
		}
		at = 1
	}
	s := m.points[at-1].last
	take := func() {
		if ok && found.generatedColumn == s.generatedColumn {
			return
		}
		found, ok = s.place(), true
	}
	if s.generatedLine == line && s.any && s.generatedColumn <= column {
		take()
	}
	for i := m.points[at-1].at; i < len(m.mappings) && s.generatedLine <= line; {
		end, is, err := next(m.mappings, i, &s)
		if err != nil {
			return found, false // they were checked
		}
		if is && s.generatedLine == line {
			if s.generatedColumn > column {
				break
			}
			take()
		}
		i = end
	}
	return found, ok
}
