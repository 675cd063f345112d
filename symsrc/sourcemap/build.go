package sourcemap

import (
	"math"
	"strings"
)

// minAgree is how many segments near a place must agree where some begin in the middle of a word.
const minAgree = 4

const (
	// maxWrong is how many segments there must be for one that begins in the middle of a word: some may be in strings that were joined.
	maxWrong = 20
	// close is how many segments before and after that of a place are close to it.
	close = 8
)

// Of a map, samples are compared with the code: how many at most, the segments of one, how many of these say that the code there is elsewhere, and how
// many samples that the map is of another build. These are one after the other, since what has moved goes on to the end of its line, or more than one of
// so many: a map of swc may have two in a hundred here and there.
const (
	samples      = 128
	sampled      = 16
	movedWords   = 4
	movedBefore  = 7
	movedSamples = 2
	movedShare   = 16
)

// beforeWords are signs before words that begin nothing themselves, or seldom.
const beforeWords = ".,;:=?&|>("

// fits reports whether a map may be of the code, by its segments near a place: all begin in it, and none close to the place and hardly any
// other in the middle of a word. Those of another build do as soon as their code has moved. One that is a byte after the begin of a word that
// has its own may be: where swc has dropped the braces of a block, that is where its end was. With the map of its own
// source in it, swc's is less exact: that of a brace may be anywhere in the word.
func (c *code) fits(f *found) bool {
	wrong, apart := 0, false
	var r row
	at, is, word := -1, false, -1
	for i := range f.near {
		n, column := f.generated(i)
		if n != at {
			at, word = n, -1
			r, is = c.row(n)
		}
		offset, ok := column, column <= len(r.text)
		if r.before != nil {
			offset, ok = r.offset(column)
		} else {
			r.want(column-1, column+1)
		}
		if within := ok && parts(r.text, offset); ok && !within {
			word = offset
		} else if within && f.near[i].source < 0 && isDigit(r.text[offset-1]) && isDigit(r.text[offset]) {
			continue // Metro numbers modules after it has made their maps
		} else if !is || !ok || offset != word+1 && !f.isBrace(&f.near[i]) {
			if within && f.apart(&r, i, word, offset) {
				apart = true
				continue
			}
			if wrong++; i >= f.index-close && i <= f.index+close {
				return false
			}
		}
	}
	if wrong > 0 && f.index >= 0 { // strings that were joined, or a map that is not exact: then the source must tell
		if _, _, known := f.source(&f.near[f.index]); !known {
			return false
		}
	}
	return wrong*maxWrong <= len(f.near) && (!apart || c.agrees(f))
}

// apart reports whether the i-th segment is in the word that begins at an offset, and as far from one that begins there as in the source. With the map of
// its own source in it, swc's has what stood at such a distance in that, whatever the code is: in `visit(a)` the `computed` of `o.computed(a)`.
func (f *found) apart(r *row, i, word, offset int) bool {
	if !r.isWord(word, offset) {
		return false
	}
	s := &f.near[i]
	for k := i - 1; k >= 0 && f.near[k].generatedLine == s.generatedLine && int(s.generatedColumn-f.near[k].generatedColumn) <= offset-word; k-- {
		of := &f.near[k]
		if of.source == s.source && of.line == s.line && of.column < s.column && s.column-of.column == s.generatedColumn-of.generatedColumn {
			return true
		}
	}
	return false
}

// agrees reports whether the source has the code at the place, and near it at twice as many segments as not. Those of another build do not.
func (c *code) agrees(f *found) bool {
	if f.index < 0 {
		return false
	}
	line, _ := f.generated(f.index)
	r, ok := c.row(line)
	if !ok {
		return false
	}
	agree, differ, own := 0, 0, false
	for i := max(0, f.index-close); i < min(f.index+close, len(f.near)-1); {
		of, next := f.compareTo(&r, line, i)
		switch of {
		case agrees:
			agree++
			own = own || i <= f.index && f.index < next
		case differs:
			differ++
		}
		i = next
	}
	return own && agree >= minAgree && agree >= 2*differ
}

// compareTo compares the code of a line from where the i-th segment begins up to the next one with the source, and returns the index of that. Of several at one
// column, one must agree.
func (f *found) compareTo(r *row, line, i int) (of comparison, next int) {
	n, column := f.generated(i)
	to, ok := len(r.text), true
	for next = i + 1; next < len(f.near); next++ {
		if m, begin := f.generated(next); m != n {
			break
		} else if begin > column {
			to, ok = r.offset(begin)
			break
		}
	}
	from, is := r.offset(column)
	if n != line || !ok || !is || from >= to || parts(r.text, from) {
		return unknown, next
	}
	if parts(r.text, to) {
		to = min(to, from+len(r.token(from)))
	}
	r.want(from-maxToken-len(indirect), to)
	code := direct(r.text, from, to)
	of = differs
	for k := i; k < next && of != agrees; k++ {
		if one, _ := f.compared(k, code); one != differs {
			of = one
		}
	}
	return of, next
}

// resembles reports whether a place between two of the map may be of this build: the source has the code from the one before it up to the next.
func (c *code) resembles(f *found, line, column int) bool {
	if f.index < 0 || f.word != nil {
		return true
	}
	if _, begin := f.generated(f.index); begin == column {
		return true
	}
	r, _ := c.row(line)
	of, _ := f.compareTo(&r, line, f.index)
	return of != differs
}

// sound reports whether the source can have something of the code at a place.
func (c *code) sound(f *found, line, column int) bool {
	if f.index < 0 {
		return true
	}
	r, _ := c.row(line)
	var at byte
	if offset, ok := r.offset(column); ok && offset < len(r.text) {
		at = r.text[offset]
	}
	return f.sound(&r, at) && c.echoes(f)
}

// maxBeyond is how many places there must be for one behind the end of its line: with the map of its own source in it, swc's has some in templates of
// several lines.
const maxBeyond = 256

// holds reports whether all places of a map are in the code, by those that it notes, and the last one.
func (c *code) holds(m *Map) bool { return c.holdsFrom(m, 0, 0) }

func (c *code) holdsFrom(m *Map, line, column int) bool {
	for i := range m.sections {
		s := &m.sections[i]
		from := s.column
		if s.line == 0 {
			from += column
		}
		if !c.holdsFrom(s.of, line+s.line, from) {
			return false
		}
	}
	beyond := 0
	holds := func(l, at int32) bool {
		if l == 0 {
			at += int32(column)
		}
		text, ok := c.line(line + int(l))
		if ok && int(at) > len(text) {
			beyond++
		}
		return ok
	}
	n := m.points.len()
	for i := range n {
		if !holds(m.points.place(i)) || beyond > n/maxBeyond {
			return false
		}
	}
	last := m.near(math.MaxInt32, math.MaxInt32, nil)
	return len(last) == 0 || holds(last[len(last)-1].generatedLine, last[len(last)-1].generatedColumn) && beyond <= n/maxBeyond
}

// moved reports whether a map is of another build than the code, by samples of it: what was put in or left out somewhere moves what follows it.
// The map of a build has hardly a segment in the middle of a word, or before one, also if a compiler is not exact.
func (c *code) moved(m *Map) bool {
	sample := c
	if c.pieces != nil { // few bytes of it are wanted
		sample = &code{text: c.text, pieces: c.pieces.exactly(), starts: c.starts, wide: map[int][]uint32{}, long: c.long}
	}
	var of compared
	sample.movedFrom(m, 0, 0, &of)
	return of.longest >= movedSamples || of.wrong >= movedSamples && of.wrong*movedShare > of.all
}

// compared are the samples of a map: how many there are, how many say that the code is elsewhere, and how many of these are one after the other at
// the last one and at most.
type compared struct{ all, wrong, run, longest int }

func (c *code) movedFrom(m *Map, line, column int, of *compared) {
	for i := range m.sections {
		s := &m.sections[i]
		from := s.column
		if s.line == 0 {
			from += column
		}
		c.movedFrom(s.of, line+s.line, from, of)
	}
	space := spaces.Get().(*[]segment)
	defer spaces.Put(space)
	for i, n := 0, m.points.len(); i < n; i += (n + samples - 1) / samples {
		of.all++
		at, s := m.points.at(i)
		part := span{at, min(at+pointEvery, len(m.mappings))}
		text := part.of(m.mappings)
		if m.pieces != nil {
			text = m.text.read(span{m.mapped.at + part.at, m.mapped.at + part.end})
		}
		_, near, err := s.run(text, 0, len(text)*3/4, append((*space)[:0], s.segment)) // the rest may have the end of a segment only
		*space = near[:0]
		if err == nil && c.isElsewhere(near[:min(len(near), sampled)], line, column) {
			of.wrong++
			of.run++
			of.longest = max(of.longest, of.run)
		} else {
			of.run = 0
		}
	}
}

// isElsewhere reports whether code is elsewhere than segments have it: some begin in the middle of words, or most before words. One in a word that begins
// with another one does not count: with the map of its own source in it, swc's has what stood in that. line and column are where that begins which
// they are of.
func (c *code) isElsewhere(of []segment, line, column int) bool {
	within, before, words := 0, 0, 0
	place := func(s *segment) int {
		if s.generatedLine == 0 {
			return column + int(s.generatedColumn)
		}
		return int(s.generatedColumn)
	}
	var r row
	is, word := false, -1
	for i := range of {
		if i == 0 || of[i].generatedLine != of[i-1].generatedLine {
			word = -1
			end := i + 1
			for end < len(of) && of[end].generatedLine == of[i].generatedLine {
				end++
			}
			if r, is = c.row(int(of[i].generatedLine) + line); is {
				from, _ := r.offset(place(&of[i]))
				to, _ := r.offset(place(&of[end-1]))
				r.want(from-1, to+2)
			}
		}
		at, ok := 0, is
		if is {
			at, ok = r.offset(place(&of[i]))
		}
		inside := ok && parts(r.text, at)
		if ok && !inside {
			word = at
		}
		switch {
		case inside && r.isWord(word, at):
		case !ok || inside:
			within++
		case at < len(r.text) && inWord(r.text[at]):
			words++
		case at+1 < len(r.text) && inWord(r.text[at+1]) && strings.IndexByte(beforeWords, r.text[at]) >= 0:
			before++
		}
	}
	return within >= movedWords || before >= movedBefore && words <= movedWords/2
}
