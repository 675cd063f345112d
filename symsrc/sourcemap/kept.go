package sourcemap

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
)

// An index has what reading a map takes time to find: all but the mappings and the texts, and where these are in the file. Numbers are in
// LEB128. A map has its debug ID, whether it is of hermesc, the lines of its modules and its segments by name; and the number of its sections;
// then each section, its place before it; or, without sections: the sources, the ignored ones, the places of the mappings, of the contents and
// of the functions, and the points.
const indexMagic = "qss-filter source map 2\n"

// encode returns the index of a map. ok is false if the map has none: its mappings are not in the file as they are used, or it has
// scopes.
func (m *Map) encode() (index []byte, ok bool) {
	ok = true
	m.each(func(m *Map) {
		ok = ok && m.sorted == nil && m.scoped == (span{}) && (m.mapped != span{} || len(m.mappings) == 0)
	})
	if !ok {
		return nil, false
	}
	return m.appendTo([]byte(indexMagic)), true
}

func (m *Map) appendTo(b []byte) []byte {
	number := func(v int) { b = binary.AppendUvarint(b, uint64(v)) }
	word := func(s string) { number(len(s)); b = append(b, s...) }
	places := func(of []span) {
		number(len(of))
		for _, at := range of {
			number(at.at)
			number(at.end - at.at)
		}
	}
	word(m.DebugID)
	if m.compiled {
		number(1)
	} else {
		number(0)
	}
	number(len(m.offsets))
	for _, line := range m.offsets {
		number(line + 1)
	}
	number(len(m.segments))
	for _, name := range slices.Sorted(maps.Keys(m.segments)) {
		word(name)
		b = m.segments[name].appendTo(b)
	}
	number(len(m.sections))
	for _, s := range m.sections {
		number(s.line)
		number(s.column)
		b = s.of.appendTo(b)
	}
	if m.sections != nil {
		return b
	}
	number(len(m.sources))
	for _, s := range m.sources {
		word(s)
	}
	number(len(m.ignored))
	for _, i := range m.ignored {
		number(i)
	}
	places([]span{m.mapped})
	places(m.contents)
	places(m.functions)
	number(m.points.len())
	return append(b, m.points...)
}

// decode returns the map of an index of the text, without its mappings. ok is false for what is no such index.
func (t *text) decode(index []byte) (m *Map, ok bool) {
	if !strings.HasPrefix(string(index[:min(len(index), len(indexMagic))]), indexMagic) {
		return nil, false
	}
	r := indexReader{rest: index[len(indexMagic):], size: int(t.info.Size())}
	m = r.read(t, 0)
	return m, !r.bad && len(r.rest) == 0
}

// The index of a script has what finding its lines takes: its debug ID, the lengths of its lines, and row.before of those that code.long has. Its
// functions follow if they were wanted: how many they are, and of each where its parameters begin, after the one before it, how long it is, and
// its words, of which each is 0 for none, or one more than twice its distance from there, and 1 more than that if it is before; then the names of
// the parents of classes.
const codeMagic = "qss-filter script 2\n"

// appendTo appends the functions and the parents, as an index has them.
func (l *lexed) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(l.functions)))
	last := uint32(0)
	for i := range l.functions {
		of := &l.functions[i]
		b = binary.AppendUvarint(b, uint64(of.begin-last))
		b = binary.AppendUvarint(b, uint64(of.end-of.begin))
		for _, word := range [...]uint32{of.name, of.class} {
			switch {
			case word == 0:
				b = append(b, 0)
			case word > of.begin:
				b = binary.AppendUvarint(b, uint64(word-of.begin)*2+1)
			default:
				b = binary.AppendUvarint(b, uint64(of.begin-word)*2+2)
			}
		}
		last = of.begin
	}
	b = binary.AppendUvarint(b, uint64(len(l.parents)))
	for _, name := range slices.Sorted(maps.Keys(l.parents)) {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	return b
}

// readIndex reads the functions and the parents of a script of that many bytes that its index has, if it has any.
func (l *lexed) readIndex(size int) {
	if len(l.index) == 0 {
		return
	}
	r := indexReader{rest: l.index, size: size}
	l.index = nil
	all := make([]enclosing, r.number(min(maxFunctionsOf, len(r.rest)/4)))
	begin := 0
	for i := range all {
		begin += r.number(size - begin)
		all[i].begin, all[i].end = uint32(begin), uint32(begin+r.number(size-begin))
		for _, word := range [...]*uint32{&all[i].name, &all[i].class} {
			n := r.number(2*size + 2)
			if n == 0 {
				continue
			}
			at := begin + (n-1)/2
			if n%2 == 0 {
				at = begin - (n-2)/2
			}
			if at <= 0 || at > size {
				return
			}
			*word = uint32(at)
		}
	}
	parents := map[string]bool{}
	for range r.number(maxParents) {
		parents[string(r.bytes(r.number(len(r.rest))))] = true
	}
	if r.bad || len(r.rest) > 0 {
		return
	}
	nest(all)
	l.functions, l.parents, l.done = all, parents, true
}

// encode returns the index of code that states a debug ID.
func (c *code) encode(id string) []byte {
	b := []byte(codeMagic)
	number := func(v int) { b = binary.AppendUvarint(b, uint64(v)) }
	number(len(id))
	b = append(b, id...)
	number(len(c.starts))
	long := map[int][]uint32{}
	for n, start := range c.starts {
		line, _ := c.line(n)
		if n > 0 {
			number(int(start - c.starts[n-1]))
		}
		if len(line) <= step {
			continue
		}
		if before := unitsBefore(line); before != nil {
			long[n] = before
		}
	}
	number(len(long))
	for _, n := range slices.Sorted(maps.Keys(long)) {
		number(n)
		for i, before := range long[n][1:] {
			number(int(before - long[n][i]))
		}
	}
	return b
}

// decodeCode returns the code of an index of the text, which is read when it is wanted; keep is to keep a longer one. ok is false for what is no such
// index.
func (t *text) decodeCode(index []byte, keep func(index []byte)) (c *code, id string, ok bool) {
	rest, ok := bytes.CutPrefix(index, []byte(codeMagic))
	if !ok {
		return nil, "", false
	}
	size := int(t.info.Size())
	r := indexReader{rest: rest, size: size}
	id = string(r.bytes(r.number(len(r.rest))))
	c = &code{pieces: t.piecesOf(span{0, size}), wide: map[int][]uint32{}, long: map[int][]uint32{}}
	c.text = c.pieces.data
	c.starts = make([]uint32, r.number(len(r.rest)))
	for i, at := 1, 0; i < len(c.starts); i++ {
		length := r.number(size - at)
		r.bad = r.bad || length == 0 // it has its end
		at += length
		c.starts[i] = uint32(at)
	}
	long := r.number(len(r.rest))
	if r.bad || len(c.starts) == 0 {
		return nil, "", false
	}
	for range long {
		n := r.number(len(c.starts))
		line, is := c.line(n)
		if !is || len(line) <= step || r.bad {
			return nil, "", false
		}
		before := make([]uint32, (len(line)+step-1)/step)
		for i := range before[1:] {
			before[i+1] = before[i] + uint32(r.number(2*step))
		}
		c.long[n] = before
	}
	if c.lexed.index = r.rest; len(r.rest) == 0 {
		c.keep = func(functions []byte) { keep(slices.Concat(index, functions)) }
	}
	return c, id, !r.bad
}

// indexReader reads an index of a text of that many bytes. What it reads is of no use once bad is set.
type indexReader struct {
	rest []byte
	size int
	bad  bool
}

// number reads a number of at most max.
func (r *indexReader) number(max int) int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(max) {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// bytes reads that many bytes.
func (r *indexReader) bytes(n int) (b []byte) {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b, r.rest = r.rest[:n:n], r.rest[n:]
	return b
}

// places reads places in the text. There are no more of them than bytes.
func (r *indexReader) places() []span {
	of := make([]span, r.number(len(r.rest)))
	for i := range of {
		at := r.number(r.size)
		of[i] = span{at, at + r.number(r.size-at)}
	}
	return of
}

func (r *indexReader) read(t *text, depth int) *Map {
	m := &Map{text: t, DebugID: string(r.bytes(r.number(len(r.rest))))}
	m.compiled = r.number(1) == 1
	if n := r.number(min(maxSections, len(r.rest))); n > 0 {
		m.offsets = make([]int, n)
	}
	for i := range m.offsets {
		m.offsets[i] = r.number(math.MaxInt32) - 1
	}
	if depth > maxDepth {
		r.bad = true
	}
	for n := r.number(maxSections); n > 0 && !r.bad; n-- {
		if m.segments == nil {
			m.segments = map[string]*Map{}
		}
		name := string(r.bytes(r.number(len(r.rest))))
		m.segments[name] = r.read(t, depth+1)
	}
	n := r.number(maxSections)
	for i := 0; i < n && !r.bad; i++ {
		line, column := r.number(1<<30), r.number(1<<30)
		m.sections = append(m.sections, section{line, column, r.read(t, depth+1)})
	}
	if n > 0 || r.bad {
		return m
	}
	m.sources = make([]string, r.number(len(r.rest)))
	for i := range m.sources {
		m.sources[i] = string(r.bytes(r.number(len(r.rest))))
	}
	m.ignored = make([]int, r.number(len(r.rest)))
	for i := range m.ignored {
		m.ignored[i] = r.number(len(m.sources))
	}
	if at := r.places(); len(at) == 1 {
		m.mapped = at[0]
	} else {
		r.bad = true
	}
	m.contents, m.functions = r.places(), r.places()
	m.points = points(r.bytes(r.number(len(r.rest)/pointSize) * pointSize))
	return m
}
