package sourcemap

import (
	"bytes"
	"slices"
	"strings"
)

// separators end an expression or a statement, or begin one.
const separators = ",;{}"

// maxTokens is how many words and signs of code tell segments of one column apart.
const maxTokens = 3

// closers end what is called, openers begin what these end.
const closers, openers = ")]}", "([{"

// maxConstructor bounds the code of a constructor that is looked at.
const maxConstructor = 1 << 10

// indirect begins a call that a compiler has made of the one of a name that is imported: `(0,b.c)(d)` of `c(d)`.
const indirect = "(0,"

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
	if string(token) == newWord && from == offset && f.construct(&r, offset, line) {
		return true
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
	r.want(from-1, offset)
	if sure && from < offset {
		return true
	} else if sure {
		return !f.isBackward(token) && !(string(token) == "(" && from > 0 && r.text[from-1] == ')' && f.isLastWord(next))
	}
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

// isLastWord reports whether the source has the last word of a statement or an argument at the place, which nothing is called after: of
// `let f=a?b:c;return f(d)`, rolldown makes `return(a?b:c)(d)` with the last parenthesis where the c is. Without the source, it may if the map has that twice,
// and what is next in another line.
func (f *found) isLastWord(next int) bool {
	at := &f.near[f.index]
	w, offset, ok := f.source(at)
	if !ok {
		if f.index == 0 || next < 0 {
			return false
		}
		before := &f.near[f.index-1]
		return before.source == at.source && before.line == at.line && before.column == at.column && f.near[next].line != at.line
	}
	if offset < 0 {
		return false
	}
	word, rest := nextToken(w.text[offset:])
	after, _ := nextToken(rest)
	return word != "" && inWord(word[0]) && !isKeyword(word) && (after == "" || strings.Contains(";,:}", after) || inWord(after[0]) && after != "in" && after != "instanceof")
}

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
		for at := &f.near[f.index]; i >= 0 && sure && i < len(f.near); i++ { // and the call, too
			n, begin := f.generated(i)
			if offset, ok := r.offset(begin); n != line || !ok || offset > to {
				break
			}
			sure = f.near[i].source == at.source && f.near[i].line == at.line
		}
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

// isFunction reports whether a function or a class begins with a text. One that was put in the place of its name is elsewhere in the source.
func isFunction(text []byte) bool {
	for _, word := range [...]string{"function", "async", "class", "("} {
		if bytes.HasPrefix(text, []byte(word)) {
			return true
		}
	}
	return false
}

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
		if place, ok := f.wordBefore(&f.near[i], awaitWord); ok {
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

// construct has the place of the word `new` at an offset, at which a segment begins, be that of the word in the source before what it makes. Where a
// variable was replaced by what it was, some maps have the variable at the word, and what is made in its own place. It returns false if the source
// does not say so.
func (f *found) construct(r *row, offset, line int) bool {
	after := offset + len(newWord)
	if f.compare(f.index, []byte(newWord)) != differs {
		return false
	}
	for i := f.index + 1; i < len(f.near); i++ {
		n, at := f.generated(i)
		to, ok := r.offset(at)
		if n != line || !ok {
			return false
		}
		if to < after {
			continue
		}
		r.want(after, to)
		if len(bytes.Trim(r.text[after:to], " (")) > 0 {
			return false
		}
		if place, ok := f.wordBefore(&f.near[i], newWord); ok {
			f.index, f.word = i, &place
			return true
		}
	}
	return false
}
