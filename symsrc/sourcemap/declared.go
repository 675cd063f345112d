package sourcemap

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// A frame of code whose names a minifier has made short has such a name. The original one is what the map has for the word that names the
// function in the script: the function that the place is in, if the frame has its name, too.

// lexed is what is known of the functions of a script.
type lexed struct {
	mu sync.Mutex
	// read are the bytes that were read for single places. functions are those of all of the script, once done is set.
	read      int
	done      bool
	functions []enclosing
	index     []byte // has both functions and parents, if it is not empty, and was not read yet
	// parents are the names of the parents of classes, nil as long as they are not wanted.
	parents map[string]bool
}

const (
	// smallScript is the size of a script whose functions are all found at once.
	smallScript = 16 << 10
	// maxPlaces bounds the places that are compared with what is read for a frame.
	maxPlaces = 1 << 12
	// maxParents bounds the names of classes that others extend.
	maxParents = 1 << 14
)

// nearBy and farthest are how far before a place a script is read for the beginning of a function, in bytes. Few are longer than the first, and
// none is looked for beyond the second.
const (
	nearBy   = 8 << 10
	farthest = 64 << 10
)

// function returns the function that a place of the script is in, if it has that name. ok is false if it has not, or if that is not known.
func (c *code) function(m *Map, line, column int, name string) (of enclosing, ok bool) {
	one := func(of enclosing) bool { return of.name != 0 && string(c.wordAt(of.name)) == name }
	r, is := c.row(line)
	if !is {
		return of, false
	}
	offset, is := r.offset(column)
	if !is {
		return of, false
	}
	offset += r.begin
	c.lexed.mu.Lock()
	defer c.lexed.mu.Unlock()
	c.lexed.readIndex(len(c.text))
	if !c.lexed.done && len(c.text) > smallScript && c.lexed.read < len(c.text)/4 { // all of it takes less time soon
		space := spaces.Get().(*[]segment)
		defer spaces.Put(space)
		f := m.find(line, column, *space)
		f.giveBack(space)
		for _, back := range [...]int{nearBy, farthest} {
			near, is := c.functionNear(&f, line, column, offset, back, one)
			if is == inFunction || is == inOther || is == inNone && back == farthest {
				return near, is == inFunction
			}
		}
	}
	if !c.lexed.done {
		c.findFunctions()
	}
	of, ok = enclosingAt(c.lexed.functions, offset)
	return of, ok && offset-int(of.begin) < farthest && one(of)
}

// findFunctions finds all functions of the script, and the parents of classes, and keeps them for the next run.
func (c *code) findFunctions() {
	c.lexed.done = true
	c.pieces.want(0, len(c.text))
	c.lexed.functions = functionsOf(c.text)
	if c.keep != nil && !c.pieces.of.lost.Load() {
		c.lexed.parents = parentsIn(c.text)
		c.keep(c.lexed.appendTo(nil))
	}
}

// nearness says what is known of a place from the text before it.
type nearness uint8

const (
	doubted nearness = iota
	inNone           // of the text that was read
	inOther
	inFunction
)

// functionNear is function for what begins at most so far before the place. The reading begins where the map says that a word does. If the map
// has another one within a string, it was itself in one, or in a template, and nothing is known.
func (c *code) functionNear(f *found, line, column, offset, back int, one func(enclosing) bool) (of enclosing, is nearness) {
	if f.of.sorted != nil || f.index < 0 {
		return of, doubted
	}
	places := c.placesBefore(f, line, column, offset, back)
	if len(places) < 2 {
		return of, doubted
	}
	l := lexer{text: c.text, at: int(places[0]), places: places[1:]}
	c.lexed.read += offset - l.at
	c.pieces.want(l.at, min(offset+step, len(c.text)))
	if l.run(offset); offset < len(c.text) && strings.IndexByte(")]},;", c.text[offset]) < 0 {
		l.run(offset + 1)
	}
	of, ok := l.around(offset, one, c.pieces.want)
	switch {
	case l.wrong || l.bad:
		return of, doubted
	case ok:
		return of, inFunction
	case of.begin > 0:
		return of, inOther
	}
	return of, inNone
}

// placesBefore returns where the map has places before one of the script, as offsets of it.
func (c *code) placesBefore(f *found, line, column, offset, back int) (places []uint32) {
	l, at := int32(line-f.line), int32(column)
	if l == 0 {
		at -= int32(f.column)
	}
	add := func(line, column int32) bool {
		n, at := int(line)+f.line, int(column)
		if line == 0 {
			at += f.column
		}
		r, ok := c.row(n)
		if !ok {
			return false
		}
		if at, ok = r.offset(at); !ok || parts(r.text, at) {
			return true
		}
		if at += r.begin; at < offset-back || len(places) >= maxPlaces {
			return false
		}
		places = append(places, uint32(at))
		return true
	}
	first := f.of.points.last(l, at)
	for i := len(f.near) - 1; i > 0; i-- { // the first one is the point's
		if s := &f.near[i]; s.compare(l, at) <= 0 && !add(s.generatedLine, s.generatedColumn) {
			break
		}
	}
	for i := first; i >= 0 && add(f.of.points.place(i)); i-- {
	}
	slices.Reverse(places)
	return slices.Compact(places)
}

// extended reports whether a class of the script may have one as its parent that is called so, there or in its source. V8 writes the class of the
// object, which has the parent's name if it has none, and minifiers use a short one again.
func (c *code) extended(short, original string) bool {
	c.lexed.mu.Lock()
	defer c.lexed.mu.Unlock()
	if c.lexed.readIndex(len(c.text)); c.lexed.parents == nil {
		c.pieces.want(0, len(c.text))
		c.lexed.parents = parentsIn(c.text)
	}
	return len(c.lexed.parents) >= maxParents || c.lexed.parents[short] || c.lexed.parents[original]
}

var extendsWord = []byte("extends")

// parentsIn returns the names of the parents of classes in a script: of `a.b`, the last word.
func parentsIn(text []byte) map[string]bool {
	names := map[string]bool{}
	for i := 0; len(names) < maxParents; {
		n := bytes.Index(text[i:], extendsWord)
		if n < 0 {
			break
		}
		begin := i + n
		i = begin + len(extendsWord)
		if begin > 0 && inWord(text[begin-1]) || i >= len(text) || inWord(text[i]) {
			continue
		}
		last := ""
		for at := i; at < min(len(text), i+maxToken) && (inWord(text[at]) || strings.IndexByte(" .(", text[at]) >= 0); {
			if end := wordEnd(text, at); end > at {
				last, at = string(text[at:end]), end
			} else {
				at++
			}
		}
		names[last] = true
	}
	return names
}

// position returns the line and the column of an offset.
func (c *code) position(offset int) (line, column int) {
	line = sort.Search(len(c.starts), func(i int) bool { return int(c.starts[i]) > offset }) - 1
	r, _ := c.row(line)
	at := offset - r.begin
	if r.before == nil {
		return line, at
	}
	k := min(at/step, len(r.before)-1)
	column = int(r.before[k])
	i := k * step
	r.want(i, at)
	for i < at && !utf8.RuneStart(r.text[i]) {
		i++
	}
	for i < at {
		if i+8 <= at && binary.LittleEndian.Uint64(r.text[i:])&highBits == 0 {
			column, i = column+8, i+8
			continue
		}
		_, size := utf8.DecodeRune(r.text[i:])
		if column++; size == 4 {
			column++
		}
		i += size
	}
	return line, column
}

// asked is a function of a script that has a frame: the place in the script, and where that is in a source.
type asked struct {
	line, column int
	of           *Map
	source       int32
	at           position
}

// nameOf returns the name of a function for the one that a log has for it. That is the log's itself where nothing says more.
func (s *Script) nameOf(q *asked, logged string) string {
	core, as := logged, ""
	if i := strings.Index(core, " [as "); i > 0 && strings.HasSuffix(core, "]") {
		core, as = core[:i], core[i:]
	}
	owner, name := "", core
	if i := strings.LastIndexByte(core, '.'); i >= 0 {
		owner, name = core[:i], core[i+1:]
	}
	kind := ""
	for _, one := range [...]string{"get ", "set "} {
		if strings.HasPrefix(name, one) {
			kind, name = one, name[len(one):]
		}
	}
	if len(name) > maxToken || !isName(name) {
		return logged
	}
	of, ok := s.code.function(s.m, q.line, q.column, name)
	if !ok {
		return logged
	}
	original := func(word uint32, was string, of func(enclosing) uint32) string {
		if word == 0 || string(s.code.wordAt(word)) != was {
			return was
		}
		if found := s.declared(int(word)-1, q, was, of); found != "" {
			return found
		}
		return was
	}
	was := name
	name = original(of.name, name, func(e enclosing) uint32 { return e.name })
	if owner != "" {
		if found := original(of.class, owner, func(e enclosing) uint32 { return e.class }); found != owner && !s.code.extended(owner, found) {
			owner = found
		}
		owner += "."
	}
	if name != was && as == " [as "+name+"]" { // V8 says it where the two differ
		as = ""
	}
	if s.lost() {
		return logged
	}
	return owner + kind + name + as
}

// isName reports whether a text is a name of JavaScript without escapes.
func isName(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !wordBytes[name[i]] && (i > 0 || name[i] != '#' || len(name) == 1) {
			return false
		}
	}
	return true
}

// wordAt returns the word of the script that begins before an offset.
func (c *code) wordAt(after uint32) []byte {
	at := int(after) - 1
	end := min(at+maxToken+1, len(c.text))
	c.pieces.want(at, end)
	return c.text[at:wordEnd(c.text[:end], at)]
}

// declared returns the original name of what a word of the script names, "" if the map does not say: its place must be that of a word of the
// source that names the innermost function around a frame there, too, or as of has it. A minifier may have put code of one function in another.
func (s *Script) declared(at int, q *asked, was string, of func(enclosing) uint32) string {
	line, column := s.code.position(at)
	space := spaces.Get().(*[]segment)
	defer spaces.Put(space)
	f := s.m.find(line, column, *space)
	f.giveBack(space)
	if f.of != q.of {
		return ""
	}
	for i := f.index; i >= 0 && i < len(f.near); i++ {
		seg := &f.near[i]
		if n, begin := f.generated(i); n != line || begin != column {
			break
		}
		if seg.source != q.source {
			continue
		}
		if name := f.of.declares(seg, q.at, was, of); name != "" {
			return name
		}
	}
	return ""
}

// declares returns the name at the place of a segment in its source, if it is that of the innermost function around another place, which is
// behind it. It returns what it was, if that is the name.
func (m *Map) declares(seg *segment, at position, was string, of func(enclosing) uint32) string {
	word := position{seg.line, seg.column}
	if at.before(word) || at.line-word.line > maxFunctionLines || seg.column > maxColumn || at.column > maxColumn {
		return ""
	}
	w, ok := m.linesOf(seg.source, word.line, at.line+linesBehind)
	if !ok {
		return ""
	}
	begin, ok := w.offset(seg.column)
	if !ok {
		return ""
	}
	name := w.text[begin:wordEnd(w.text, begin)]
	if name == was || !isName(name) || isKeyword(name) || (name[0] == '#') != (was[0] == '#') || len(name) > maxName || begin > 0 && inWord(w.text[begin-1]) {
		return ""
	}
	w.at = 0
	for n := w.first; n < at.line; n++ {
		i := strings.IndexByte(w.text[w.at:], '\n')
		if i < 0 {
			return ""
		}
		w.at += i + 1
	}
	place, ok := w.offset(at.column)
	if !ok {
		return ""
	}
	lines := contents.Get().(*content)
	defer contents.Put(lines)
	lines.json = append(lines.json[:0], w.text...)
	if !namesFunction(lines.json, begin, place, of) {
		return ""
	}
	return name
}

// maxName bounds an original name, in bytes.
const maxName = 256

// linesBehind are the lines behind a place that are read: they say whether it is in the parameters of an arrow function.
const linesBehind = 32

// maxBody bounds the source text that is read from the name of a function on, in bytes.
const maxBody = 64 << 10

// linesOf returns the lines of a source from one to another, and the line before them. ok is false if the map does not have them, or if they are long.
func (m *Map) linesOf(source, from, to int32) (w window, ok bool) {
	if _, _, ok = m.window(source, from); !ok {
		return w, false
	}
	m.mu.Lock()
	of := m.texts[source]
	m.mu.Unlock()
	first := max(from-1, 0)
	if of == nil {
		return w, false
	}
	at := span{int(of.starts[first]), len(of.text)}
	if int(to) < len(of.starts)-1 {
		at.end = int(of.starts[to+1])
	}
	if at.end-at.at > maxBody {
		return w, false
	}
	w = window{source: source, line: from, text: of.text[at.at:at.end], first: first}
	if first < from {
		w.at = strings.IndexByte(w.text, '\n') + 1
	}
	return w, true
}

// namesFunction reports whether a word of a source names the innermost function around a place behind it, or is what of returns for that.
func namesFunction(text []byte, word, place int, of func(enclosing) uint32) bool {
	named := uint32(word) + 1
	end := wordEnd(text, word)
	is := func(l lexer) bool {
		l.text, l.types = text, true
		if !l.run(place) {
			return false
		}
		names := func() bool {
			_, ok := l.around(place, func(e enclosing) bool { return of(e) == named }, func(from, to int) {})
			return ok
		}
		if place >= len(text) || strings.IndexByte(")]},;", text[place]) < 0 {
			l.run(place + 1)
			return names()
		}
		end := l
		end.open = slices.Clone(l.open)
		if names() {
			return true
		}
		if l = end; text[place] != '}' {
			return false
		}
		l.run(place + 1) // a function that is called where it stands may have its call at its end
		return names()
	}
	before := strings.TrimRight(string(text[max(word-maxToken, 0):word]), " \t\r\n")
	before = strings.TrimRight(strings.TrimSuffix(before, "*"), " \t\r\n")
	switch {
	case endsWithWord(before, "function"):
		return is(lexer{at: skipGenerics(text, end), after: afterName, function: true, functionName: named})
	case endsWithWord(before, "class"):
		return is(lexer{at: skipGenerics(text, end), after: afterName, open: []bracket{{kind: classHead, value: true, of: enclosing{name: named}}}})
	}
	next := end
	for next < len(text) && (text[next] <= ' ' || text[next] == '?' || text[next] == '!') {
		next++
	}
	if next >= len(text) {
		return false
	}
	value := lexer{after: afterName, word: word}
	switch text[next] {
	case '(', '<':
		value.at, value.open = skipGenerics(text, next), []bracket{{kind: class}}
		return is(value)
	case '=':
		value.at = next
		return is(value)
	case ':':
		value.at, value.open = next, []bracket{{kind: object}}
		if is(value) {
			return true
		}
		value.open = nil
		if value.at = typeEnd(text, next+1, false); value.at < len(text) && text[value.at] == '=' {
			return is(value)
		}
	}
	return false
}

// endsWithWord reports whether a text ends with a word.
func endsWithWord(text, word string) bool {
	rest, ok := strings.CutSuffix(text, word)
	return ok && (rest == "" || !inWord(rest[len(rest)-1]) && rest[len(rest)-1] != '.')
}
