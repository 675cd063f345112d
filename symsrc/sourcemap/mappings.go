package sourcemap

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
)

// segment is one mapping: the generated code from a column on comes from a place of a source, −1 for none.
type segment struct {
	generatedLine, generatedColumn int32
	source, line, column, name     int32
}

// state is what a segment counts from: the one before it. The columns of generated code begin anew in each line.
type state struct {
	segment
	// any is set if the line has a segment already, and mapped if the last one has a source.
	any, mapped bool
	// disordered is set if a segment does not begin after the one before it.
	disordered bool
	// sources and names are how many of them the segments need.
	sources, names int32
}

// points are places in the mappings, in their order: the offset after a segment, with mappedPoint if that has a source, and the fields of
// the segment. They are pointSize bytes each, little-endian, so that those of a file are used as they are. Segments at the same place are
// not parted by one.
type points []byte

const (
	pointSize   = 7 * 4
	mappedPoint = 1 << 31
	// pointEvery is how far points are apart, in bytes. A search decodes that much.
	pointEvery = 256
	// maxSame bounds the mappings of one place, in bytes.
	maxSame = 16 << 10
)

var (
	errMapping = errors.New("a mapping is malformed")
	errOrder   = errors.New("too many mappings, which are not in order")
	errSame    = errors.New("too many mappings of one place")
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

// tooLong is what short returns for a number of more than two digits, and for what is none. quick is how many bytes four short ones take.
const (
	tooLong = 1 << 10
	quick   = 4*2 + 1
)

// short decodes the number of one digit or two at text[i:], with its sign in the lowest bit.
func short(text []byte, i int) (n uint32, end int) {
	n = uint32(digits[text[i]])
	if n < 32 {
		return n, i + 1
	}
	next := uint32(digits[text[i+1]])
	if n|next >= 64 || next >= 32 {
		return tooLong, i
	}
	return n&31 | next<<5, i + 2
}

// signed returns the number whose sign is in the lowest bit.
func signed(n uint32) int32 { return (int32(n>>1) ^ -int32(n&1)) + int32(n&1) }

// run decodes text[i:stop] and the rest of the segment there, and appends the segments to into if that is not nil. What it decodes begins
// with a segment or the end of a line. end is where the next one begins.
func (s *state) run(text []byte, i, stop int, into []segment) (end int, segments []segment, err error) {
	at := s.segment
	any, mapped, disordered, sources, names := s.any, s.mapped, s.disordered, s.sources, s.names
	for i < stop {
		if text[i] == ';' {
			at.generatedLine++
			at.generatedColumn, any, mapped = 0, false, false
			i++
			continue
		}
		if i+quick < len(text) { // most segments have four short numbers
			a, k := short(text, i)
			b, k := short(text, k)
			c, k := short(text, k)
			d, k := short(text, k)
			if a|b|c|d < tooLong && text[k] == ',' && text[k+1] != ',' && text[k+1] != ';' {
				column := at.generatedColumn + signed(a)
				at.source += signed(b)
				at.line += signed(c)
				at.column += signed(d)
				if column|at.source|at.line|at.column < 0 {
					return i, into, errMapping
				}
				disordered = disordered || column < at.generatedColumn
				at.generatedColumn, any, mapped = column, true, true
				sources = max(sources, at.source+1)
				if into != nil {
					into = append(into, segment{})
					of := &into[len(into)-1] // field by field: a copy of all of it would wait for the writes to each
					of.generatedLine, of.generatedColumn = at.generatedLine, at.generatedColumn
					of.source, of.line, of.column, of.name = at.source, at.line, at.column, at.name
				}
				i = k + 1
				continue
			}
		}
		var fields [5]int32
		n := 0
		for {
			if n == len(fields) {
				return i, into, errMapping
			}
			d := uint32(digits[text[i]])
			if i++; d >= 32 {
				if i >= len(text) || d == 64 {
					return i, into, errMapping
				}
				if next := uint32(digits[text[i]]); next < 32 { // most numbers have one digit or two
					d = d&31 | next<<5
					i++
				} else {
					long, end, ok := number(text, i-1)
					if !ok {
						return i, into, errMapping
					}
					i, d = end, uint32(long)<<1
					if long < 0 {
						d = uint32(-long)<<1 | 1
					}
				}
			}
			fields[n] = signed(d)
			n++
			if i >= len(text) || text[i] == ';' {
				break
			}
			if text[i] == ',' {
				if i++; i >= len(text) || text[i] == ',' || text[i] == ';' {
					return i, into, errMapping
				}
				break
			}
		}
		column := at.generatedColumn + fields[0]
		if column < 0 || n != 1 && n != 4 && n != 5 {
			return i, into, errMapping
		}
		disordered = disordered || column < at.generatedColumn
		at.generatedColumn, any, mapped = column, true, n > 1
		if mapped {
			at.source += fields[1]
			at.line += fields[2]
			at.column += fields[3]
			if at.source|at.line|at.column < 0 {
				return i, into, errMapping
			}
			sources = max(sources, at.source+1)
			if n == 5 {
				if at.name += fields[4]; at.name < 0 {
					return i, into, errMapping
				}
				names = max(names, at.name+1)
			}
		}
		if into != nil {
			of := at
			if !mapped {
				of.source = -1
			}
			into = append(into, of)
		}
	}
	s.segment = at
	s.any, s.mapped, s.disordered, s.sources, s.names = any, mapped, disordered, sources, names
	return i, into, nil
}

// check decodes all mappings, and notes some of their places.
func (m *Map) check(names int) error {
	var s state
	var err error
	same := 0
	for i := 0; i < len(m.mappings); {
		if m.mappings[i] == ';' {
			s.generatedLine++
			s.generatedColumn, s.any = 0, false
			i++
			continue
		}
		begin, before := i, s
		if i, _, err = s.run(m.mappings, i, i+1, nil); err != nil {
			return err
		}
		if !before.any || before.generatedColumn != s.generatedColumn {
			m.points = m.points.with(i, &s)
			same = 0
		} else if same += i - begin; same > maxSame {
			return errSame
		} else {
			continue
		}
		if i, _, err = s.run(m.mappings, i, min(begin+pointEvery, len(m.mappings)), nil); err != nil {
			return err
		}
	}
	if int(s.sources) > len(m.sources) || int(s.names) > names {
		return errSource
	}
	if s.disordered {
		return m.sort()
	}
	return nil
}

// with returns the points with one more, at an offset after the last segment.
func (p points) with(offset int, s *state) points {
	at := uint32(offset)
	if s.mapped {
		at |= mappedPoint
	}
	for _, v := range [...]int32{s.generatedLine, s.generatedColumn, s.source, s.line, s.column, s.name} {
		if len(p)%pointSize == 0 {
			p = binary.LittleEndian.AppendUint32(p, at)
		}
		p = binary.LittleEndian.AppendUint32(p, uint32(v))
	}
	return p
}

// len returns how many points there are.
func (p points) len() int { return len(p) / pointSize }

// place returns where the segment before the i-th point begins.
func (p points) place(i int) (line, column int32) {
	b := p[i*pointSize+4:]
	return int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))
}

// last returns the index of the last point at a place or before it, −1 for none.
func (p points) last(line, column int32) int {
	place := func(line, column uint32) uint64 { return uint64(line)<<32 | uint64(column) }
	at := place(uint32(line), uint32(column))
	low, high := 0, p.len()
	for low < high {
		mid := int(uint(low+high) / 2)
		b := p[mid*pointSize+4:][:8]
		if place(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])) > at {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low - 1
}

// at returns the offset of the i-th point, and what is decoded until there.
func (p points) at(i int) (offset int, s state) {
	b := p[i*pointSize : (i+1)*pointSize]
	at := binary.LittleEndian.Uint32(b)
	field := func(k int) int32 { return int32(binary.LittleEndian.Uint32(b[4*k:])) }
	s = state{segment: segment{field(1), field(2), field(3), field(4), field(5), field(6)}, any: true, mapped: at&mappedPoint != 0}
	return int(at &^ mappedPoint), s
}

// maxSorted bounds the segments of a map whose lines are not in order.
const maxSorted = 1 << 21

// sort decodes the mappings of a map whose lines are not in order: their deltas may be negative.
func (m *Map) sort() (err error) {
	var s state
	m.sorted = []segment{}
	for i := 0; i < len(m.mappings); {
		if i, m.sorted, err = s.run(m.mappings, i, min(i+pointEvery, len(m.mappings)), m.sorted); err != nil {
			return err
		}
		if len(m.sorted) > maxSorted {
			return errOrder
		}
	}
	slices.SortStableFunc(m.sorted, func(a, b segment) int { return a.compare(b.generatedLine, b.generatedColumn) })
	m.mappings, m.points = nil, nil
	return nil
}

// compare compares where a segment begins with a place.
func (s *segment) compare(line, column int32) int {
	return cmp.Or(cmp.Compare(s.generatedLine, line), cmp.Compare(s.generatedColumn, column))
}

// around is how many segments before and after one are near it.
const around = 32

// near returns segments near a place in the order of the generated code, at least all from the last one before it on up to the first one
// behind it. They are valid until the next call with the same space.
func (m *Map) near(line, column int32, space []segment) []segment {
	if m.sorted != nil {
		i := sort.Search(len(m.sorted), func(i int) bool { return m.sorted[i].compare(line, column) > 0 })
		low := max(i-around, 0)
		for low > 0 && m.sorted[low-1].compare(m.sorted[low].generatedLine, m.sorted[low].generatedColumn) == 0 {
			low--
		}
		return m.sorted[low:min(i+around, len(m.sorted))]
	}
	n := m.points.len()
	k := m.points.last(line, column)
	if k < 0 {
		return nil
	}
	at, s := m.points.at(k)
	first := s.segment
	if !s.mapped {
		first.source = -1
	}
	end := min(len(m.mappings), at+pointEvery+maxSame) // what follows before the next point are empty lines
	if k+1 < n {
		next, _ := m.points.at(k + 1) // after the first segment behind the place
		end = min(end, next)
	}
	if at > end {
		return nil // an index that is none of these mappings
	}
	if m.pieces.want(at, end); m.text.lost.Load() {
		return nil
	}
	_, all, err := s.run(m.mappings, at, end, append(space[:0], first))
	if err != nil {
		return nil // they were checked
	}
	return all
}

// last returns the index of the last of some segments of a line that begins at a column or before it; of several at one column the
// first. It returns −1 if there is no such segment.
func last(of []segment, line, column int32) int {
	i := sort.Search(len(of), func(i int) bool { return of[i].compare(line, column) > 0 }) - 1
	if i < 0 || of[i].generatedLine != line {
		return -1
	}
	for i > 0 && of[i-1].compare(line, of[i].generatedColumn) == 0 {
		i--
	}
	return i
}
