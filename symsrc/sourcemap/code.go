package sourcemap

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// code is generated code. Places in it are lines, and columns in UTF-16 units, both counted from 0.
type code struct {
	text   []byte
	pieces *pieces  // what is read of the text when it is wanted, nil if it is there
	starts []uint32 // of its lines
	mu     sync.Mutex
	wide   map[int][]uint32 // row.before of the lines that were asked for
	long   map[int][]uint32 // row.before of the lines that are longer than a step and not ASCII, if there are pieces
	lexed  lexed
	keep   func(functions []byte) // keeps what the index has of functions, nil if that is not wanted
}

// step is how far the counted places of a line are apart, in bytes.
const step = 1 << 12

func newCode(text []byte) *code {
	c := &code{text: text, starts: make([]uint32, 1, 16), wide: map[int][]uint32{}}
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '\n')
		if n < 0 {
			return c
		}
		i += n + 1
		c.starts = append(c.starts, uint32(i))
	}
}

// openCode returns the code in a file, and the debug ID that it states. It returns nil for a file that cannot be read, that is too large, and
// that is Hermes' byte code or a RAM bundle: less is known then. An index of a large one is kept.
func openCode(path string, kept *diskcache.Kept) (c *code, id string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return nil, ""
	}
	if info.Size() < worthKept {
		text, err := os.ReadFile(path)
		if err != nil || isBinary(text) {
			return nil, ""
		}
		return newCode(text), debugID(text)
	}
	of := &text{path: path, info: info}
	keep := func(index []byte) {
		if now, err := os.Stat(path); err == nil && of.is(now) {
			kept.Store(path, index)
		}
	}
	if index, ok := kept.Load(path); ok {
		if c, id, ok = of.decodeCode(index, keep); ok {
			return c, id
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	var index []byte
	if of.whole(f, func(text []byte) error {
		if !isBinary(text) {
			index = newCode(text).encode(debugID(text))
		}
		return nil
	}) != nil || index == nil || of.changed(f) {
		return nil, ""
	}
	kept.Store(path, index)
	c, id, _ = of.decodeCode(index, keep)
	return c, id
}

// isBinary reports whether a file is Hermes' byte code or a RAM bundle.
func isBinary(text []byte) bool {
	return bytes.HasPrefix(text, byteCode) || bytes.HasPrefix(text, ramBundle)
}

// differs reports whether there is a file at a path with other code.
func (c *code) differs(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if info.Size() != int64(len(c.text)) {
		return true
	}
	text, err := os.ReadFile(path)
	c.pieces.want(0, len(c.text))
	return err == nil && !bytes.Equal(text, c.text)
}

// line returns a line without its end. ok is false if there is none.
func (c *code) line(n int) (text []byte, ok bool) {
	if n < 0 || n >= len(c.starts) {
		return nil, false
	}
	if text = c.text[c.starts[n]:]; n+1 < len(c.starts) {
		text = c.text[c.starts[n] : c.starts[n+1]-1]
	}
	return text, true
}

// row is a line of code, for which places are counted. Of its text, what is wanted is there.
type row struct {
	of    *code
	begin int  // of the line
	have  span // what is known to be there
	text  []byte
	// before are the units before each step of a line that is not ASCII, nil for others.
	before []uint32
	// seen is the column that was asked for last in such a line, and its offset: the next one is behind it, mostly.
	seen struct{ column, offset int }
}

// row returns a line. ok is false if there is none.
func (c *code) row(n int) (r row, ok bool) {
	if r.text, ok = c.line(n); !ok {
		return r, false
	}
	r.of, r.begin = c, int(c.starts[n])
	if c.pieces != nil && len(r.text) > step {
		r.before = c.long[n]
		return r, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.before, ok = c.wide[n]; !ok {
		if len(c.wide) >= maxRows {
			clear(c.wide)
		}
		r.want(0, len(r.text))
		r.before = unitsBefore(r.text)
		c.wide[n] = r.before
	}
	return r, true
}

// want has a part of the line read, as far as that is there.
func (r *row) want(from, to int) {
	if from < r.have.at || to > r.have.end {
		r.read(max(from, 0), min(to, len(r.text)))
	}
}

// read has a part of the line read, and the blocks that it is in.
func (r *row) read(from, to int) {
	if r.of == nil || from >= to {
		return
	}
	begin, end := (r.begin+from)/blockSize*blockSize, ((r.begin+to-1)/blockSize+1)*blockSize
	if r.of.pieces != nil && r.of.pieces.exact {
		begin, end = r.begin+from, r.begin+to
	}
	r.of.pieces.want(r.begin+from, r.begin+to)
	r.have = span{begin - r.begin, end - r.begin}
}

// maxRows bounds the lines whose places are remembered.
const maxRows = 1 << 12

// offset returns the offset of a column, and has the text on both of its sides read. ok is false if the line is shorter.
func (r *row) offset(column int) (offset int, ok bool) {
	if column > len(r.text) || r.before == nil {
		r.want(column-1, column+1)
		return column, column <= len(r.text)
	}
	k := max(sort.Search(len(r.before), func(i int) bool { return int(r.before[i]) > column })-1, 0)
	at, i := int(r.before[k]), k*step
	stop := min(i+step+utf8.UTFMax, len(r.text)) // the next step has more units before it
	r.want(i-1, stop+1)
	if r.seen.column > at && r.seen.column <= column {
		at, i = r.seen.column, r.seen.offset
	}
	for i < stop && !utf8.RuneStart(r.text[i]) { // it was counted at its begin
		i++
	}
	for i < stop && at < column {
		if at+8 <= column && i+8 <= stop && binary.LittleEndian.Uint64(r.text[i:])&highBits == 0 {
			at, i = at+8, i+8
			continue
		}
		_, size := utf8.DecodeRune(r.text[i:])
		at++
		if size == 4 {
			at++
		}
		i += size
	}
	r.seen.column, r.seen.offset = at, i
	return i, at >= column
}

// highBits are the highest bits of eight bytes, none of which is set if all are ASCII.
const highBits = 0x8080808080808080

// unitsBefore returns how many UTF-16 units are before each step of a line, nil if each byte is one.
func unitsBefore(line []byte) (before []uint32) {
	if isASCII(line) {
		return nil
	}
	units := 0
	for i := 0; i < len(line); i++ {
		if i%step == 0 {
			before = append(before, uint32(units))
		}
		if i%8 == 0 && i+8 <= len(line) && binary.LittleEndian.Uint64(line[i:])&highBits == 0 {
			units += 8
			i += 7
			continue
		}
		switch b := line[i]; {
		case b < 0x80:
			units++
		case b < 0xc0: // counted at the begin of its character
		case b < 0xf0:
			units++
		default:
			units += 2
		}
	}
	return before
}

// isASCII reports whether all bytes of a line are those of ASCII.
func isASCII(line []byte) bool {
	for ; len(line) >= 32; line = line[32:] {
		a, b := binary.LittleEndian.Uint64(line), binary.LittleEndian.Uint64(line[8:])
		c, d := binary.LittleEndian.Uint64(line[16:]), binary.LittleEndian.Uint64(line[24:])
		if (a|b|c|d)&highBits != 0 {
			return false
		}
	}
	for _, b := range line {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// parts reports whether a place is in the middle of a word, where no mapping begins.
func parts(line []byte, offset int) bool {
	return offset > 0 && offset < len(line) && inWord(line[offset-1]) && inWord(line[offset])
}

// wordBytes are the bytes of words: identifiers, keywords and numbers.
var wordBytes = func() (in [256]bool) {
	for c := range in {
		in[c] = c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
	}
	return in
}()

func inWord(b byte) bool { return wordBytes[b] }

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

// isWord reports whether what is between two offsets is a word, or the begin of one.
func (r *row) isWord(from, to int) bool {
	if from < 0 || from > to || to-from > maxToken {
		return false
	}
	r.want(from, to)
	return isWord(r.text[from:to])
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

// minAgree is how many segments near a place must agree where some begin in the middle of a word.
const minAgree = 4

const (
	// maxWrong is how many segments there must be for one that begins in the middle of a word: some may be in strings that were joined.
	maxWrong = 20
	// close is how many segments before and after that of a place are close to it.
	close = 8
)

// separators end an expression or a statement, or begin one.
const separators = ",;{}"

// choose has the place at a position be that of another segment than the one before it if that is the one of its expression: of
// `b(2),await c(3)`, some maps have only b, 2, c and 3, so that `await` would be where the 2 is. It returns false if the position may be part of
// none. Where the map has the source, that tells.
func (c *code) choose(f *found, line, column int) bool {
	if f.index < 0 {
		return true
	}
	r, _ := c.row(line)
	offset, ok := r.offset(column)
	_, begin := f.generated(f.index)
	from, is := r.offset(begin)
	if !ok || !is || from > offset {
		return true
	}
	token := r.token(offset)
	if string(token) == awaitWord {
		switch f.await(&r, from, offset, line, column) {
		case agrees:
			return true
		case differs:
			return false
		}
	}
	if r.beginsFunction(offset) {
		return false
	}
	if to, is := r.endsCallee(offset); is || r.isConstructor(offset) {
		return c.closes(f, &r, line, column, from, offset, to)
	}
	if !f.chooseAmong(&r, from, offset) {
		return false
	}
	next, sure := f.next(line, column)
	if sure {
		return from < offset || !f.isBackward(token)
	}
	r.want(from, offset)
	if next >= 0 && string(token) == "(" && from < offset && callee(r.text, offset) < 0 && (r.text[offset-1] == ')' || r.text[offset-1] == '}') {
		if _, begin = f.generated(next); begin == column+1 {
			if place, ok := f.callOf(&f.near[f.index], &f.near[next]); ok {
				f.index, f.word = next, &place
				return true
			}
		}
	}
	switch f.compare(f.index, codeOfCall(r.text[:offset+len(token)], from, offset)) {
	case agrees:
		return true
	case differs:
		return false
	}
	to := -1 // where the next segment begins
	if next >= 0 {
		_, begin = f.generated(next)
		if at, ok := r.offset(begin); ok && at >= offset {
			to = at
			r.want(offset, to+len("function"))
		}
		if f.near[next].source == f.near[f.index].source && f.near[next].before(&f.near[f.index]) || to >= 0 && string(token) == awaitWord && isFunction(r.text[to:]) {
			return false // what follows in the code was put there
		}
	}
	if !bytes.ContainsAny(r.text[from:offset], separators) && !callsFunction(r.text, from, offset) {
		return true
	}
	if to >= 0 && offset < len(r.text) && inWord(r.text[offset]) && !bytes.ContainsAny(r.text[offset:to], separators+"(") {
		f.index, f.moved = next, true
		return true
	}
	return false
}

// chooseAmong has the place be of the one whose source has the code, of several segments that begin at the same column. It returns false if they are
// of several lines, and that does not tell. Where compilers drop a declaration, both it and what follows are there.
func (f *found) chooseAmong(r *row, from, offset int) bool {
	first := f.near[f.index]
	all := f.near[f.index : f.index+1]
	for end := f.index + 1; end < len(f.near) && f.near[end].compare(first.generatedLine, first.generatedColumn) == 0; end++ {
		all = f.near[f.index : end+1]
	}
	if len(all) == 1 {
		return true
	}
	several := slices.ContainsFunc(all, func(s segment) bool { return s.source >= 0 && (s.source != first.source || s.line != first.line) })
	to := offset
	for range maxTokens {
		r.want(to, to+1)
		to += max(len(r.token(to)), 1)
		if to >= len(r.text) {
			break
		}
	}
	to = min(to, len(r.text))
	r.want(from, to)
	code := r.text[from:to]
	if i := bytes.IndexAny(code, quotes); i > 0 {
		code = code[:i]
	}
	best, lines := -1, 0
	for i := range all {
		at := f.index + i
		if of, _ := f.compared(at, code); of != agrees {
			continue
		}
		if best < 0 || f.near[best].source != f.near[at].source || f.near[best].line != f.near[at].line {
			lines++
		}
		if best < 0 {
			best = at
		}
	}
	if best >= 0 && lines == 1 {
		f.index = best
		return true
	}
	return !several
}

// isBackward reports whether a place is that of the arguments of a call in a map without columns, which has them where the call begins, lines before
// what is called ends.
func (f *found) isBackward(token []byte) bool {
	at := &f.near[f.index]
	if at.column > 0 || string(token) != "(" {
		return false
	}
	if f.index == 0 {
		return true // what is before it is not near
	}
	before := &f.near[f.index-1]
	return before.source == at.source && before.line > at.line
}

// maxTokens is how many words and signs of code tell segments of one column apart.
const maxTokens = 3

// closers end what is called, openers begin what these end.
const closers, openers = ")]}", "([{"

// endsCallee reports whether a place is where JavaScriptCore has the call of a function or a class that stands there itself, and what is called ends at
// line[to]: that is what closes last in `(a=>b(a))(c)` and `new class{…}(a)`, or the last word, as in `function(a){return a}(b)` and `(a=>{b.c++})(d)`.
func (r *row) endsCallee(offset int) (to int, is bool) {
	if offset >= len(r.text) || strings.IndexByte(closers, r.text[offset]) >= 0 {
		return r.skipClosers(offset), true
	}
	if strings.IndexByte(openers, r.text[offset]) >= 0 {
		return 0, false // it closes before that
	}
	after := offset + len(r.token(offset))
	r.want(after, after+2)
	if rest := r.text[after:]; bytes.HasPrefix(rest, []byte("++")) || bytes.HasPrefix(rest, []byte("--")) {
		after += 2
	}
	to = r.skipClosers(after)
	r.want(to, to+len("?.("))
	rest := r.text[to:]
	return to, to > after && (bytes.HasPrefix(rest, []byte("(")) || bytes.HasPrefix(rest, []byte("?.(")))
}

// beginsFunction reports whether a function begins at a place, where nothing is called: JavaScriptCore has what has no place of its own there.
func (r *row) beginsFunction(offset int) bool {
	token := r.token(offset)
	r.want(offset, offset+len(token)+len("=>"))
	return string(token) == "function" || bytes.HasPrefix(r.text[offset+len(token):], []byte("=>"))
}

// isConstructor reports whether the word at an offset is the last of a function that is called as a constructor without arguments, whose place that of
// JavaScriptCore is: `new function(){this.a=b}`.
func (r *row) isConstructor(offset int) bool {
	end := offset + len(r.token(offset))
	r.want(offset-maxConstructor, end+1)
	if end >= len(r.text) || r.text[end] != '}' {
		return false
	}
	depth := 0
	for i := offset - 1; i >= 0 && i > offset-maxConstructor; i-- {
		switch r.text[i] {
		case '"', '\'', '`':
			i = max(bytes.LastIndexByte(r.text[max(0, i-maxConstructor):i], r.text[i])+max(0, i-maxConstructor), 0)
		case '}':
			depth++
		case '{':
			if depth--; depth < 0 {
				at := bytes.LastIndex(r.text[max(0, i-maxToken):i], []byte("function"))
				return at >= 0 && bytes.HasSuffix(r.text[:max(0, i-maxToken)+at], []byte("new "))
			}
		}
	}
	return false
}

// maxConstructor bounds the code of a constructor that is looked at.
const maxConstructor = 1 << 10

// skipClosers returns the offset of the first byte from one on that closes nothing.
func (r *row) skipClosers(at int) int {
	for r.want(at, at+1); at < len(r.text) && strings.IndexByte(closers, r.text[at]) >= 0; at++ {
		r.want(at, at+2)
	}
	return at
}

// closes has the place at a position be that of what ends at r.text[to], if the source has that, too, and what follows. Where it was put in the place of its
// name, the end of it is elsewhere in the source than its call.
func (c *code) closes(f *found, r *row, line, column, from, offset, to int) bool {
	after := r.token(to)
	r.want(from, to)
	all := r.text[from:to]
	if to == len(r.text) {
		if next, ok := c.row(line + 1); ok {
			next.want(0, maxToken)
			word, _ := nextToken(string(next.text[:min(len(next.text), maxToken)]))
			after = []byte(word)
		}
	}
	of, next := f.compared(f.index, slices.Concat(all, after))
	if _, _, known := f.source(&f.near[f.index]); !known { // both that and what follows may be of one line
		i, sure := f.next(line, column)
		return i >= 0 && sure
	}
	if of != agrees || f.compare(f.index, r.text[from:offset+len(r.token(offset))]) != agrees {
		return false
	}
	if len(after) > 0 && (after[0] == '(' || after[0] == '?') {
		return next.line == f.word.line
	}
	return f.onOneLine(f.word)
}

// before reports whether a segment is of a place in the source before that of another one.
func (s *segment) before(other *segment) bool {
	return s.line < other.line || s.line == other.line && s.column < other.column
}

// token returns the word or the sign at an offset.
func (r *row) token(offset int) []byte {
	end := offset
	for r.want(offset, end+1); end < len(r.text) && end < offset+maxToken && inWord(r.text[end]); end++ {
		r.want(offset, end+2)
	}
	return r.text[offset:min(max(end, offset+1), len(r.text))]
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

// maxToken bounds a word that is looked at.
const maxToken = 64

// isFunction reports whether a function or a class begins with a text. One that was put in the place of its name is elsewhere in the source.
func isFunction(text []byte) bool {
	for _, word := range [...]string{"function", "async", "class", "("} {
		if bytes.HasPrefix(text, []byte(word)) {
			return true
		}
	}
	return false
}

// indirect begins a call that a compiler has made of the one of a name that is imported: `(0,b.c)(d)` of `c(d)`.
const indirect = "(0,"

// callee returns where the last name of an indirect call begins whose arguments begin at text[offset:], or all that is called of a default, −1 for other
// text.
func callee(text []byte, offset int) int {
	if offset < 1 || offset >= len(text) || text[offset] != '(' || text[offset-1] != ')' {
		return -1
	}
	begin, name := offset-1, -1
	for begin > 0 && offset-begin < maxToken && (inWord(text[begin-1]) || text[begin-1] == '.' || text[begin-1] == ' ') {
		if begin--; text[begin] == '.' && name < 0 {
			name = begin + 1
			begin -= required(text[:begin])
		}
	}
	if name < 0 {
		name = begin
	}
	if !bytes.HasSuffix(text[:begin], []byte(indirect)) {
		return -1
	}
	if bytes.HasPrefix(text[name:], []byte("default)")) {
		return begin // the source has another name
	}
	return name
}

// required returns how many bytes a text ends in that Metro has of a module where one of its names is used: `r(d[9])`.
func required(text []byte) int {
	tail := text[max(0, len(text)-maxToken):]
	at := bytes.LastIndexByte(tail, '(')
	if at <= 0 || !bytes.HasSuffix(tail, []byte("])")) {
		return 0
	}
	list, number, ok := bytes.Cut(tail[at+1:len(tail)-len("])")], []byte("["))
	if !ok || !isWord(list) || !isWord(number) {
		return 0
	}
	begin := at
	for begin > 0 && inWord(tail[begin-1]) {
		begin--
	}
	if begin == at {
		return 0
	}
	return len(tail) - begin
}

// isWord reports whether a text is a word.
func isWord(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(b byte) bool { return !inWord(b) })
}

// codeOfCall returns the code from an offset of the text to its end, where the call of an imported name at the second offset is as in the source.
func codeOfCall(text []byte, from, offset int) []byte {
	name := callee(text, offset)
	if name < 0 {
		return text[from:]
	}
	return append(bytes.Clone(text[min(max(from, name), offset-1):offset-1]), '(')
}

// direct returns the code from an offset of the text up to another one, in which the first call of an imported name is as in the source.
func direct(text []byte, from, to int) []byte {
	code := text[from:to]
	call := from + bytes.Index(code, []byte(")(")) + 1
	name := callee(text, call)
	if call == from || name < from {
		return code
	}
	begin := max(from, bytes.LastIndex(text[:name], []byte(indirect)))
	return slices.Concat(text[from:begin], text[name:call-1], text[call:to])
}

// callsFunction reports whether a place is the call of what stands in parentheses, `(function(a){…})(b)`, and its segment begins before that.
// Where a function was put in the place of its name, the segment is the end of that in the source.
func callsFunction(text []byte, from, offset int) bool {
	return from < offset && offset < len(text) && text[offset] == '(' && callee(text, offset) < 0 &&
		bytes.HasSuffix(bytes.TrimSuffix(text[from:offset], []byte("?.")), []byte(")"))
}

// await chooses the segment of the word `await` at an offset, of which the place of a frame that waits is. Where a variable was replaced by
// what it was, the word is mapped to the variable, or not mapped. from is where the segment before it begins.
func (f *found) await(r *row, from, offset, line, column int) comparison {
	first, known := f.index, false
	try := func(i int, code []byte) bool {
		of := f.compare(i, code)
		known = known || of != unknown
		return of == agrees
	}
	i := first
	if from == offset {
		for ; i < len(f.near) && f.near[i].compare(f.near[first].generatedLine, f.near[first].generatedColumn) == 0; i++ {
			if try(i, []byte(awaitWord)) {
				return agrees
			}
		}
	}
	for ; i < len(f.near); i++ {
		n, at := f.generated(i)
		if n != line {
			break
		}
		if at <= column {
			continue
		}
		to, ok := r.offset(at)
		if !ok || to < offset {
			break
		}
		r.want(offset, to)
		if len(bytes.Trim(r.text[min(offset+len(awaitWord), to):to], " (")) > 0 {
			break
		}
		if place, ok := f.awaitBefore(&f.near[i]); ok {
			f.index, f.word = i, &place
			return agrees
		}
		break
	}
	r.want(from, offset)
	switch {
	case from < offset && try(first, r.text[from:offset+len(awaitWord)]), from == offset && f.hasWord(&f.near[first], awaitWord):
		return agrees
	case known:
		return differs
	}
	return unknown
}

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
	holds := func(l, at int32) bool {
		if l == 0 {
			at += int32(column)
		}
		text, ok := c.line(line + int(l))
		return ok && int(at) <= len(text)
	}
	for i := range m.points.len() {
		if !holds(m.points.place(i)) {
			return false
		}
	}
	last := m.near(math.MaxInt32, math.MaxInt32, nil)
	return len(last) == 0 || holds(last[len(last)-1].generatedLine, last[len(last)-1].generatedColumn)
}

// Of a map, samples are compared with the code: how many at most, the segments of one, how many of these say that the code there is elsewhere, and how
// many samples that the map is of another build.
const (
	samples      = 128
	sampled      = 16
	movedWords   = 4
	movedBefore  = 7
	movedSamples = 2
)

// beforeWords are signs before words that begin nothing themselves, or seldom.
const beforeWords = ".,;:=?&|>("

// moved reports whether a map is of another build than the code, by samples of it: what was put in or left out somewhere moves what follows it.
// The map of a build has hardly a segment in the middle of a word, or before one, also if a compiler is not exact.
func (c *code) moved(m *Map) bool {
	sample := c
	if c.pieces != nil { // few bytes of it are wanted
		sample = &code{text: c.text, pieces: c.pieces.exactly(), starts: c.starts, wide: map[int][]uint32{}, long: c.long}
	}
	wrong := 0
	sample.movedFrom(m, 0, 0, &wrong)
	return wrong >= movedSamples
}

func (c *code) movedFrom(m *Map, line, column int, wrong *int) {
	for i := range m.sections {
		s := &m.sections[i]
		from := s.column
		if s.line == 0 {
			from += column
		}
		c.movedFrom(s.of, line+s.line, from, wrong)
	}
	space := spaces.Get().(*[]segment)
	defer spaces.Put(space)
	for i, n := 0, m.points.len(); i < n && *wrong < movedSamples; i += (n + samples - 1) / samples {
		at, s := m.points.at(i)
		part := span{at, min(at+pointEvery, len(m.mappings))}
		text := part.of(m.mappings)
		if m.pieces != nil {
			text = m.text.read(span{m.mapped.at + part.at, m.mapped.at + part.end})
		}
		_, near, err := s.run(text, 0, len(text)*3/4, append((*space)[:0], s.segment)) // the rest may have the end of a segment only
		*space = near[:0]
		if err == nil && c.isElsewhere(near[:min(len(near), sampled)], line, column) {
			*wrong++
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

// Line returns a line of the script without its end, counted from 0. ok is false if there is none, or if the script is not here or of another
// build than its map.
func (s *Script) Line(n int) (text []byte, ok bool) {
	if s.code == nil || s.files.DebugStatus != symsrc.OK || s.part {
		return nil, false
	}
	r, ok := s.code.row(n)
	if !ok {
		return nil, false
	}
	r.want(0, len(r.text))
	return bytes.TrimSuffix(r.text, []byte("\r")), true
}
