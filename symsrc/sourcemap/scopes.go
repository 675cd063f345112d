package sourcemap

import (
	"encoding/json"
	"slices"
)

// scopes are what a map has of functions, as the proposal for scopes in ECMA-426 says: which are in its sources, and which of them the code at a
// place is of. Bundlers put functions in the place of their calls; the map has these calls then.
type scopes struct {
	originals []scope // those around others are before them
	first     []int32 // of the originals of each source, and the end
	ranges    []codeRange
}

// scope is a part of a source: a function, or a block in one.
type scope struct {
	start, end position
	parent     int32 // −1 for none
	name       int32 // −1 for none
	function   bool
}

// codeRange is a part of the code. called is set if its function was put there in the place of a call at that place of a source.
type codeRange struct {
	start, end position
	parent     int32 // −1 for none
	scope      int32 // what the code is of, −1 if the map does not say
	function   bool  // it is a function of the code, too
	called     bool
	source     int32
	call       position
}

// Tags and flags of the items of scopes.
const (
	scopeNone, scopeStart, scopeEnd  = 0, 1, 2
	rangeStart, rangeEnd, rangeCall  = 4, 5, 8
	scopeNamed, scopeFrame           = 1, 4
	rangeOnLine, rangeOf, rangeFrame = 1, 2, 4
)

// Bounds of scopes: how many there are, with ranges; their text, in bytes; scopes and ranges
// inside of each other; and functions at one place.
const (
	maxScopes     = 1 << 20
	maxScopesText = 64 << 20
	maxNested     = 1 << 10 // in each other
	maxInlined    = 64
)

// anonymous stands for the name of a function that was put in the place of its call, and has none.
const anonymous = "<anonymous>"

// readScopes reads the scopes of a map with so many sources and names. It returns nil for what is malformed: no more is said of functions then.
func readScopes(text []byte, sources, names int) *scopes {
	s := &scopes{}
	var at, code position
	name, of := int32(0), int32(0)
	open, inside := int32(-1), int32(-1) // the scope and the range that are open
	depth := 0
	move := func(p *position, line, column int32) bool {
		if line > 0 {
			*p = position{p.line + line, column}
		} else {
			p.column += column
		}
		return p.line >= 0 && p.column >= 0
	}
	for i := 0; i < len(text); i++ {
		var item [8]int32
		n := 0
		for ; i < len(text) && text[i] != ','; n++ {
			v, end, ok := unsigned(text, i)
			if !ok {
				return nil
			}
			if i = end; n < len(item) {
				item[n] = v
			}
		}
		switch item[0] {
		case scopeStart, rangeStart:
			depth++
		case scopeEnd, rangeEnd:
			depth--
		}
		if n == 0 || len(s.originals)+len(s.ranges) > maxScopes || depth > maxNested {
			return nil
		}
		fields := item[1:min(n, len(item))]
		if (item[0] == scopeNone || item[0] == scopeStart) && open < 0 {
			s.first = append(s.first, int32(len(s.originals)))
		}
		switch item[0] {
		case scopeNone:
			if open >= 0 {
				return nil
			}
		case scopeStart:
			if len(fields) < 3 || !move(&at, fields[1], fields[2]) {
				return nil
			}
			one := scope{start: at, parent: open, name: -1, function: fields[0]&scopeFrame != 0}
			if fields[0]&scopeNamed != 0 {
				if len(fields) < 4 {
					return nil
				}
				name += withSign(fields[3])
				if one.name = name; name < 0 || int(name) >= names {
					return nil
				}
			}
			open = int32(len(s.originals))
			s.originals = append(s.originals, one)
		case scopeEnd:
			if len(fields) < 2 || open < 0 || !move(&at, fields[0], fields[1]) {
				return nil
			}
			s.originals[open].end = at
			if open = s.originals[open].parent; open < 0 {
				at = position{}
			}
		case rangeStart:
			place := fields[min(1, len(fields)):]
			if len(fields) < 2 {
				return nil
			}
			line := int32(0)
			if fields[0]&rangeOnLine != 0 {
				line, place = place[0], place[1:]
			}
			if len(place) == 0 || !move(&code, line, place[0]) {
				return nil
			}
			one := codeRange{start: code, parent: inside, scope: -1, function: fields[0]&rangeFrame != 0}
			if fields[0]&rangeOf != 0 {
				if len(place) < 2 {
					return nil
				}
				of += withSign(place[1])
				if one.scope = of; of < 0 || int(of) >= len(s.originals) {
					return nil
				}
			}
			inside = int32(len(s.ranges))
			s.ranges = append(s.ranges, one)
		case rangeEnd:
			if len(fields) == 0 || inside < 0 {
				return nil
			}
			line, column := int32(0), fields[0]
			if len(fields) > 1 {
				line, column = fields[0], fields[1]
			}
			if !move(&code, line, column) {
				return nil
			}
			s.ranges[inside].end = code
			inside = s.ranges[inside].parent
		case rangeCall:
			if len(fields) < 3 || inside < 0 || int(fields[0]) >= sources {
				return nil
			}
			r := &s.ranges[inside]
			r.called, r.source, r.call = true, fields[0], position{fields[1], fields[2]}
		}
	}
	if open >= 0 || inside >= 0 || len(s.first) > sources {
		return nil
	}
	for len(s.first) <= sources {
		s.first = append(s.first, int32(len(s.originals)))
	}
	return s
}

// unsigned reads a number of scopes at text[i:].
func unsigned(text []byte, i int) (n int32, end int, ok bool) {
	var v uint64
	for shift := 0; i < len(text) && shift < 35; shift += 5 {
		d := digits[text[i]]
		if d == 64 {
			return 0, i, false
		}
		v |= uint64(d&31) << shift
		if i++; d&32 == 0 {
			return int32(v), i, v < 1<<31
		}
	}
	return 0, i, false
}

// withSign returns the number whose sign is the last bit of another one.
func withSign(n int32) int32 {
	if n&1 != 0 {
		return -(n >> 1)
	}
	return n >> 1
}

// before reports whether a place is before another one.
func (p position) before(other position) bool {
	return p.line < other.line || p.line == other.line && p.column < other.column
}

// at returns the innermost scope around a place of a source, −1 for none.
func (s *scopes) at(source int32, p position) int32 {
	if source < 0 || int(source)+1 >= len(s.first) {
		return -1
	}
	from := s.first[source]
	of := s.originals[from:s.first[source+1]]
	i, _ := slices.BinarySearchFunc(of, p, func(one scope, p position) int {
		if p.before(one.start) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return -1
	}
	at := from + int32(i) - 1
	for at >= 0 && !p.before(s.originals[at].end) {
		at = s.originals[at].parent
	}
	return at
}

// inside returns the innermost range around a place of the code, −1 for none.
func (s *scopes) inside(p position) int32 {
	i, _ := slices.BinarySearchFunc(s.ranges, p, func(one codeRange, p position) int {
		if p.before(one.start) {
			return 1
		}
		return -1
	})
	at := int32(i) - 1
	for at >= 0 && !p.before(s.ranges[at].end) {
		at = s.ranges[at].parent
	}
	return at
}

// function returns the function that a scope is in, or is; −1 for none.
func (s *scopes) function(of int32) int32 {
	for of >= 0 && !s.originals[of].function {
		of = s.originals[of].parent
	}
	return of
}

// called is a function of a source, −1 for the code around all of them, and where in it the next one was called, or something was thrown.
type called struct {
	function int32
	source   int32
	at       position
}

// stack returns the functions at a place of the code that comes from a place of a source, the innermost first: more than one if some were put in
// the place of their calls. ok is false if the map does not say, or contradicts itself: each place must be in the function that the code is of.
func (s *scopes) stack(p position, source int32, at position) (all []called, ok bool) {
	i := s.inside(p)
	for ; i >= 0; i = s.ranges[i].parent {
		r := &s.ranges[i]
		if r.scope < 0 && !r.function {
			continue
		}
		function := s.function(s.at(source, at))
		if r.scope < 0 || function != s.function(r.scope) || len(all) >= maxInlined || s.at(source, at) < 0 {
			return nil, false
		}
		if r.called || r.function || r.parent < 0 {
			all = append(all, called{function, source, at})
		}
		if r.function {
			return all, true
		}
		if r.called {
			source, at = r.source, r.call
		}
	}
	return all, len(all) > 0
}

// scopes returns what a map has of functions, nil for none. It is read when it is wanted first.
func (m *Map) scopes() *scopes {
	if m.scoped == (span{}) || m.scoped.end-m.scoped.at > maxScopesText {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.scopesRead {
		m.scopesRead = true
		var text string
		if json.Unmarshal(m.text.read(m.scoped), &text) == nil {
			m.functionsOf = readScopes([]byte(text), len(m.sources), len(m.names))
		}
	}
	return m.functionsOf
}

// stack returns the functions at the place as the scopes of its map have them, the innermost first. It is nil if they say nothing.
func (f *found) stack(line, column int) (all []Original) {
	s := f.of.scopes()
	if s == nil || f.index < 0 || f.moved {
		return nil
	}
	seg := &f.near[f.index]
	at := position{seg.line, seg.column}
	if f.word != nil {
		at = *f.word
	}
	if line -= f.line; line == 0 {
		column -= f.column
	}
	stack, ok := s.stack(position{int32(line), int32(column)}, seg.source, at)
	if !ok {
		return nil
	}
	for i, c := range stack {
		if int(c.source) >= len(f.of.sources) {
			return nil
		}
		o := Original{Source: f.of.sources[c.source], Line: int(c.at.line) + 1, Column: int(c.at.column)}
		_, o.Ignored = slices.BinarySearch(f.of.ignored, int(c.source))
		if c.function >= 0 {
			if n := s.originals[c.function].name; n >= 0 && json.Unmarshal(f.of.text.read(f.of.names[n]), &o.Function) != nil {
				return nil
			}
		}
		if o.Function == "" && i < len(stack)-1 { // the log has the name of the last one
			o.Function = anonymous
		}
		all = append(all, o)
	}
	return all
}
