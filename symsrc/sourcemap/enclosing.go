package sourcemap

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// enclosing is a function of generated code, and what names it there. Offsets of words are those after the byte before them, so that 0 stands
// for none.
type enclosing struct {
	// begin is where its parameters begin, and end is behind its last byte.
	begin, end uint32
	// name is where the word is that names it, and class that of the class whose method it is.
	name, class uint32
	// parent is the function around it, −1 for none.
	parent int32
}

// functionSize is the size of a function in bytes.
const functionSize = 5 * 4

// maxFunctionsOf bounds the functions of a script, and maxOpen the brackets that are open at one place of it.
const (
	maxFunctionsOf = 1 << 20
	maxOpen        = 1 << 14
)

// lexer reads the words and signs of JavaScript, as far as it takes to tell which functions a place is in: where strings, comments and regular
// expressions are, and what brackets are for. Its results mean nothing for code that is not correct.
type lexer struct {
	text []byte
	at   int
	open []bracket
	// after is what the last word or sign was, and before what was before that if it is a name.
	after, before follows
	word          int // where the last word begins, whose end is the one of what was read if after is afterName
	// named is the word that names a function without a name of its own that begins here, and wasNamed what that was before the last word.
	named, wasNamed uint32
	// function is set after the word `function` up to its parameters; functionName is the word that names it.
	function     bool
	functionName uint32
	closed       bracket // the last parenthesis that was closed
	// all gets the functions that have ended, if it is to be filled.
	all  []enclosing
	fill bool
	// places are where words and signs are known to begin, in order. wrong is set if one is within a string or alike.
	places []uint32
	wrong  bool
	bad    bool // it cannot be JavaScript
	types  bool // it may be TypeScript
	// noRegexp is the end of a line in which what looked like a regular expression had no end. Others are not looked for there.
	noRegexp int
	newLine  bool // a line ended after what was read last
}

// follows says what may follow a word or a sign.
type follows uint8

const (
	afterStatement follows = iota // a statement, also what is in front of one: an expression begins, and a brace is that of a block
	afterOperator                 // an expression begins, and a brace is that of an object
	afterAssign                   // the same, of a value that gets a name
	afterColon                    // the same
	afterArrow                    // the body of a function begins
	afterName
	afterValue
	afterParenthesis
	afterDot
	afterControl // a word such as `if`, whose parentheses are in front of a statement
)

type bracketKind uint8

const (
	block bracketKind = iota
	object
	class
	classHead // from the word `class` to the brace
	parenthesis
	index
	template  // in ${}
	arrowBody // without braces
)

// bracket is one that is open.
type bracket struct {
	kind bracketKind
	// function is set if it is the parameters or the body of a function, which of is then. If it may turn out to be one, of is it, too.
	function bool
	of       enclosing // end is not known yet; of a class, name is what names it
	control  bool      // it stands in front of a statement
	maybe    bool      // of parentheses, they may be the parameters of a method
	// value is set if the value of what an object or a class has is being read, and choices are the question marks without their colons.
	value   bool
	choices uint16
}

// run reads what begins before an offset. It returns false for what is not JavaScript.
func (l *lexer) run(to int) bool {
	text := l.text
	to = min(to, len(text))
	for l.at < to && !l.bad {
		c := text[l.at]
		switch {
		case c <= ' ':
			l.newLine = l.newLine || c == '\n'
			l.at++
			continue
		case c == '/' && l.comment():
			continue
		case l.after == afterArrow && c != '{':
			l.push(bracket{kind: arrowBody, function: true, of: l.closed.of})
			l.after = afterOperator
		}
		if l.newLine {
			l.newLine = false
			l.statement(c)
		}
		switch {
		case wordBytes[c] || c == '#' || c == '\\':
			if c-'0' <= 9 {
				l.number()
			} else {
				l.identifier()
			}
			continue
		}
		named := l.named
		l.named = 0
		switch c {
		case '"', '\'':
			l.quoted(c)
			l.after = afterValue
		case '`':
			l.at++
			l.templateText()
		case '(':
			l.parenthesis(named)
		case '[':
			l.push(bracket{kind: index})
			l.at++
			l.after = afterOperator
		case '{':
			l.brace()
		case ')', ']', '}':
			l.close(c)
		case ',', ';':
			l.endArrows()
			if top := l.top(); top != nil && (top.kind == object && c == ',' || top.kind == class && c == ';') {
				top.value = false
			}
			l.at++
			l.after = afterOperator
			if c == ';' {
				l.after = afterStatement
			}
		case '.':
			l.dot()
		case '=':
			l.equals()
		case '?':
			l.question()
		case ':':
			l.colon()
		case '/':
			if l.types && l.at > 0 && (text[l.at-1] == '<' || l.at+1 < len(text) && text[l.at+1] == '>') { // of JSX
				l.at++
				l.after = afterOperator
				continue
			}
			if l.after == afterName || l.after == afterValue || l.after == afterParenthesis || !l.regexp() {
				l.at++
				l.after = afterOperator
			}
		case '+', '-':
			if l.at++; l.at < len(text) && text[l.at] == c {
				l.at++
				if l.after == afterName || l.after == afterParenthesis {
					l.after = afterValue
				}
				if l.after == afterValue {
					continue
				}
			}
			l.after = afterOperator
		case '<':
			top := l.top()
			if l.types && top != nil && top.kind == classHead {
				if at := skipGenerics(text, l.at); at > l.at {
					l.at, l.after = at, afterName
					continue
				}
			}
			if l.types && l.after == afterAssign {
				if at := skipGenerics(text, l.at); at < len(text) && text[at] == '(' {
					l.at, l.named = at, named
					continue
				}
			}
			l.at++
			l.after = afterOperator
		default:
			l.at++
			l.after = afterOperator
		}
	}
	return !l.bad
}

func (l *lexer) top() *bracket {
	if len(l.open) == 0 {
		return nil
	}
	return &l.open[len(l.open)-1]
}

func (l *lexer) push(b bracket) {
	if len(l.open) >= maxOpen {
		l.bad = true
		return
	}
	l.open = append(l.open, b)
}

// pop closes the last bracket, and notes the function that ends with it.
func (l *lexer) pop(end int) bracket {
	b := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	if l.fill && b.function && b.kind != parenthesis || l.fill && b.kind == class {
		if b.kind == class {
			b.of.name = 0
		}
		b.of.end = uint32(end)
		if l.all = append(l.all, b.of); len(l.all) >= maxFunctionsOf {
			l.bad = true
		}
	}
	return b
}

// endArrows closes functions whose bodies are expressions.
func (l *lexer) endArrows() {
	for top := l.top(); top != nil && top.kind == arrowBody; top = l.top() {
		l.pop(l.at)
	}
}

// statement ends what a line ends whose semicolon is left out, if the next line begins with what no expression goes on with.
func (l *lexer) statement(next byte) {
	if !wordBytes[next] && next != '#' || l.after != afterName && l.after != afterValue && l.after != afterParenthesis {
		return
	}
	if word := l.text[l.at:wordEnd(l.text, l.at)]; string(word) == "in" || string(word) == "instanceof" {
		return
	}
	l.endArrows()
	if top := l.top(); top != nil && top.kind == class {
		top.value = false
	}
}

// skip notes that there are no words from one offset to another one, both excluded.
func (l *lexer) skip(from, to int) {
	for len(l.places) > 0 && int(l.places[0]) <= from {
		l.places = l.places[1:]
	}
	if len(l.places) > 0 && int(l.places[0]) < to {
		l.wrong = true
	}
}

// comment reads a comment, if there is one.
func (l *lexer) comment() bool {
	rest := l.text[l.at+1:]
	if len(rest) == 0 || rest[0] != '/' && rest[0] != '*' {
		return false
	}
	n := 0
	if rest[0] == '/' {
		if n = bytes.IndexByte(rest, '\n'); n < 0 {
			n = len(rest)
		}
	} else if n = bytes.Index(rest[1:], []byte("*/")); n >= 0 {
		n += 3
	} else {
		n = len(rest)
	}
	l.skip(l.at, l.at+1+n)
	l.at += 1 + n
	return true
}

// quoted reads a string. One that has no end ends with its line.
func (l *lexer) quoted(quote byte) {
	begin := l.at
	for l.at++; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case quote, '\n':
			l.skip(begin, l.at)
			l.at++
			return
		case '\\':
			l.at++
		}
	}
	l.at = len(l.text)
	l.skip(begin, l.at)
}

// templateText reads the text of a template up to its end, or to what is put in it.
func (l *lexer) templateText() {
	begin := l.at - 1
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case '\\':
			l.at++
		case '`':
			l.skip(begin, l.at)
			l.at++
			l.after = afterValue
			return
		case '$':
			if l.at+1 < len(l.text) && l.text[l.at+1] == '{' {
				l.skip(begin, l.at)
				l.at += 2
				l.push(bracket{kind: template})
				l.after = afterOperator
				return
			}
		}
	}
	l.at = len(l.text)
	l.skip(begin, l.at)
}

// regexp reads a regular expression. It returns false if the line ends in it.
func (l *lexer) regexp() bool {
	if l.at < l.noRegexp {
		return false
	}
	set := false
	for i := l.at + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\n':
			l.noRegexp = i
			return false
		case '\\':
			i++
		case '[':
			set = true
		case ']':
			set = false
		case '/':
			if set {
				continue
			}
			l.skip(l.at, i)
			for l.at = i + 1; l.at < len(l.text) && wordBytes[l.text[l.at]]; {
				l.at++
			}
			l.after = afterValue
			return true
		}
	}
	l.noRegexp = len(l.text)
	return false
}

func (l *lexer) number() {
	for l.at < len(l.text) && (wordBytes[l.text[l.at]] || l.text[l.at] == '.') {
		l.at++
	}
	l.after, l.named = afterValue, 0
}

// wordEnd returns the offset after the word at an offset.
func wordEnd[Text ~string | ~[]byte](text Text, i int) int {
	if i < len(text) && text[i] == '#' {
		i++
	}
	for i < len(text) {
		if wordBytes[text[i]] {
			i++
			continue
		}
		if text[i] != '\\' {
			break
		}
		if i++; i+1 < len(text) && text[i] == 'u' && text[i+1] == '{' {
			for i < len(text) && text[i] != '}' && text[i] != '\n' {
				i++
			}
		}
		i = min(i+1, len(text))
	}
	return i
}

// inKey reports whether what is read is the name of what an object or a class has.
func (l *lexer) inKey() bool {
	top := l.top()
	return top != nil && (top.kind == object || top.kind == class) && !top.value
}

func (l *lexer) identifier() {
	begin := l.at
	end := wordEnd(l.text, begin)
	word := l.text[begin:end]
	l.at = end
	if l.after != afterDot && len(word) >= 2 && len(word) <= len("instanceof") && word[0] >= 'b' && word[0] <= 'y' && !l.inKey() && l.keyword(word) {
		return
	}
	named := l.named
	if string(word) != "async" {
		l.named = 0
	}
	l.wasNamed = named
	l.before, l.after, l.word = l.after, afterName, begin
	switch top := l.top(); {
	case l.function:
		l.functionName = uint32(begin) + 1
	case top != nil && top.kind == classHead && !top.value:
		top.of.name, top.value = uint32(begin)+1, true
	}
}

// keyword reads a word if it is one that tells what follows it.
func (l *lexer) keyword(word []byte) bool {
	after := afterOperator
	switch string(word) {
	case "function":
		l.function, l.functionName = true, l.named
	case "class":
		l.push(bracket{kind: classHead, of: enclosing{name: l.named}})
	case "extends":
		if top := l.top(); top != nil && top.kind == classHead {
			top.value = true // what follows is not the name
		}
	case "if", "for", "while", "with", "switch", "catch":
		after = afterControl
	case "await":
		if l.after == afterControl {
			after = afterControl
		}
	case "else", "do", "try", "finally":
		after = afterStatement
	case "return", "typeof", "case", "in", "delete", "void", "throw", "new", "instanceof", "yield", "default", "const", "let", "var", "export", "import":
	default:
		return false
	}
	l.after, l.named = after, 0
	return true
}

func (l *lexer) parenthesis(named uint32) {
	b := bracket{kind: parenthesis, of: enclosing{begin: uint32(l.at), name: named}, control: l.after == afterControl}
	switch {
	case l.function:
		l.function, b.function, b.of.name = false, true, l.functionName
	case (l.after == afterName || l.after == afterValue) && len(l.open) > 0 && named == 0: // not of `key:async(`
		if top := l.top(); top.kind == class || top.kind == object {
			b.maybe, b.function = true, !top.value
			b.of.name = 0
			if l.after == afterName {
				b.of.name = uint32(l.word) + 1
			}
			if top.kind == class {
				b.of.class = top.of.name
				if l.after == afterName && string(l.text[l.word:wordEnd(l.text, l.word)]) == "constructor" {
					b.of.name = top.of.name
				}
			}
		}
	}
	l.push(b)
	l.at++
	if l.named = named; b.function || b.maybe {
		l.named = 0
	}
	l.after = afterOperator
}

func (l *lexer) brace() {
	b := bracket{kind: block}
	top := l.top()
	switch {
	case l.after == afterArrow, l.after == afterParenthesis && l.closed.function && !l.closed.maybe:
		b.function, b.of = true, l.closed.of
	case l.after == afterParenthesis && l.closed.maybe && top != nil && (top.kind == class || top.kind == object):
		b.function, b.of = true, l.closed.of
	case top != nil && top.kind == classHead:
		top.kind, top.value, top.of.begin = class, false, uint32(l.at)
		l.at++
		l.after = afterStatement
		return
	case l.after == afterOperator, l.after == afterAssign, l.after == afterColon:
		b.kind = object
	}
	l.push(b)
	l.at++
	l.after = afterStatement
	if b.kind == object {
		l.after = afterOperator
	}
}

func (l *lexer) close(c byte) {
	l.endArrows()
	end := l.at + 1
	top := l.top()
	if top == nil {
		l.at = end // of what has begun before what is read
		l.after = afterParenthesis
		if c == '}' {
			l.after = afterStatement
		}
		l.closed = bracket{}
		return
	}
	switch {
	case c == ')' && top.kind == parenthesis:
		l.closed = l.pop(end)
		l.at, l.after = end, afterParenthesis
		if l.closed.control {
			l.after = afterStatement
		}
	case c == ']' && top.kind == index:
		l.pop(end)
		l.at, l.after = end, afterValue
	case c == '}' && top.kind == template:
		l.pop(end)
		l.at = end
		l.templateText()
	case c == '}' && top.kind <= class:
		b := l.pop(end)
		l.at, l.after = end, afterStatement
		if b.kind == object {
			l.after = afterValue
		} else if of := l.top(); of != nil && of.kind == class && b.kind == block {
			of.value = false
		}
	default:
		l.bad = true
	}
}

func (l *lexer) dot() {
	l.at++
	switch rest := l.text[l.at:]; {
	case bytes.HasPrefix(rest, []byte("..")):
		l.at += 2
		l.after = afterOperator
	case len(rest) > 0 && rest[0]-'0' <= 9:
		l.number()
	default:
		l.after = afterDot
	}
}

func (l *lexer) equals() {
	rest := l.text[l.at+1:]
	switch {
	case len(rest) > 0 && rest[0] == '>':
		l.at += 2
		switch l.after {
		case afterName:
			l.closed = bracket{of: enclosing{begin: uint32(l.word), name: l.wasNamed}}
		case afterParenthesis:
		default:
			l.closed = bracket{of: enclosing{begin: uint32(l.at - 2)}}
		}
		if l.closed.maybe {
			l.closed.of = enclosing{begin: l.closed.of.begin}
		}
		l.after = afterArrow
		return
	case len(rest) > 0 && rest[0] == '=':
		for l.at++; l.at < len(l.text) && l.text[l.at] == '='; {
			l.at++
		}
		l.after = afterOperator
		return
	}
	if l.after == afterName {
		l.named = uint32(l.word) + 1
	}
	if top := l.top(); top != nil && (top.kind == object || top.kind == class) {
		top.value = true
	}
	l.at++
	l.after = afterAssign
}

func (l *lexer) question() {
	l.at++
	rest := l.text[l.at:]
	switch {
	case len(rest) > 1 && rest[0] == '.' && rest[1]-'0' > 9:
		l.at++
		l.after = afterDot
		return
	case len(rest) > 0 && rest[0] == '?':
		l.at++
	default:
		if top := l.top(); top != nil {
			top.choices++
		}
	}
	l.after = afterOperator
}

func (l *lexer) colon() {
	if l.typed() {
		return
	}
	for top := l.top(); top != nil && top.kind == arrowBody && top.choices == 0; top = l.top() {
		l.pop(l.at)
	}
	l.at++
	top := l.top()
	switch {
	case top == nil || top.choices == 0 && top.kind != object:
		l.after = afterStatement // of a label, or a case
	case top.choices > 0:
		top.choices--
		l.after = afterOperator
	default:
		if l.after == afterName && !top.value {
			l.named = uint32(l.word) + 1
		}
		top.value, l.after = true, afterColon
	}
}

// around returns the function that the offset is in, of those that have begun by now, if it is the one. ok is false if it is not, or if it ends
// before the offset.
func (l *lexer) around(offset int, one func(enclosing) bool, want func(from, to int)) (of enclosing, ok bool) {
	last := len(l.open) - 1
	for last >= 0 && !(l.open[last].function || l.open[last].kind == class) || last >= 0 && int(l.open[last].of.begin) > offset {
		last--
	}
	if last < 0 || l.open[last].kind == class { // what computes a field is no function that has a name
		return of, false
	}
	if of = l.open[last].of; !one(of) {
		return of, false
	}
	// What is in parentheses may be the parameters of a function whose arrow follows.
	limit := min(len(l.text), offset+maxParameters)
	for depth := len(l.open); depth > last+1; depth = min(depth-1, len(l.open)) {
		if b := &l.open[depth-1]; b.kind != parenthesis || b.control {
			continue
		}
		want(offset, limit)
		for len(l.open) >= depth && l.at < limit && !l.bad {
			l.run(l.at + 1)
		}
		if l.bad || len(l.open) >= depth {
			break
		}
		if at := blanks(l.text, l.at); l.after == afterParenthesis && bytes.HasPrefix(l.text[at:], arrow) {
			return of, false
		}
	}
	return of, !l.bad
}

var arrow = []byte("=>")

// maxParameters bounds the text that is read of parameters behind a place in them.
const maxParameters = 4 << 10

// functionsOf returns the functions of a script in the order of their beginnings, nil if it is not JavaScript.
func functionsOf(text []byte) []enclosing {
	l := lexer{text: text, fill: true, all: make([]enclosing, 0, len(text)/bytesOfFunction)}
	if bytes.HasPrefix(text, []byte("#!")) {
		l.at = max(bytes.IndexByte(text, '\n'), 0)
	} else if bytes.HasPrefix(text, []byte("\ufeff")) {
		l.at = 3
	}
	if !l.run(len(text)) {
		return nil
	}
	l.endArrows()
	all := slices.Clone(l.all)
	slices.SortFunc(all, func(a, b enclosing) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end)) })
	nest(all)
	return all
}

// bytesOfFunction is how many bytes of a script there are for each function, about.
const bytesOfFunction = 200

// nest sets the parents of functions in the order of their beginnings.
func nest(all []enclosing) {
	for i, one := range all {
		at := int32(i) - 1
		for at >= 0 && all[at].end <= one.begin {
			at = all[at].parent
		}
		all[i].parent = at
	}
}

// enclosingAt returns the innermost of some functions that an offset is in.
func enclosingAt(all []enclosing, offset int) (of enclosing, ok bool) {
	i := sort.Search(len(all), func(i int) bool { return int(all[i].begin) > offset }) - 1
	for i >= 0 && int(all[i].end) <= offset {
		i = int(all[i].parent)
	}
	if i < 0 {
		return of, false
	}
	return all[i], true
}
