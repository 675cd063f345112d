package sourcemap

import (
	"encoding/binary"
	"math/bits"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// sourceText is the content of a source that the map has.
type sourceText struct {
	text   string
	starts []uint32 // of its lines
}

// Bounds of what is compared: bytes of the content of a source, and of the contents that are remembered, with where their lines begin; columns of a
// line, and bytes of code.
const (
	maxText     = 4 << 20
	maxTexts    = 48 << 20
	maxColumn   = 1 << 12
	maxCompared = 256
)

// window returns the text around a line of a source in JavaScript or TypeScript, and how many lines the source has. ok is false if the map does
// not have the content, or no such line, or a long one.
func (m *Map) window(source, line int32) (w window, lines int, ok bool) {
	if source < 0 || int(source) >= len(m.contents) || !isJavaScript(m.sources[source]) {
		return w, 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.textOf(source)
	if of == nil {
		return w, 0, false
	}
	w, ok = of.window(line)
	w.source, w.line = source, line
	return w, len(of.starts), ok
}

// textOf returns the content of a source, nil for none. All of it is kept: frames of one source come together.
func (m *Map) textOf(source int32) *sourceText {
	of, known := m.texts[source]
	if known {
		return of
	}
	if at := m.contents[source]; at.end-at.at <= maxText {
		whole := contents.Get().(*content)
		of = whole.decode(m.text, at)
		contents.Put(whole)
	}
	if of != nil {
		m.textBytes += len(of.text) + 4*len(of.starts)
	}
	if m.texts == nil || m.textBytes > maxTexts {
		m.texts, m.textBytes = map[int32]*sourceText{}, 0
	}
	m.texts[source] = of
	return of
}

// content is memory for decoding the content of a source: what JSON has, and where lines begin.
type content struct {
	json   []byte
	starts []uint32
}

var contents = sync.Pool{New: func() any { return new(content) }}

// decode returns the content at a place of a map, nil if there is none.
func (c *content) decode(of *text, at span) *sourceText {
	whole := of.readWith(&c.json, at)
	if len(whole) < 2 || whole[0] != '"' {
		return nil
	}
	text, ok := c.unescape(whole[1 : len(whole)-1])
	if !ok {
		return nil
	}
	return &sourceText{text, slices.Clone(c.starts)}
}

// window is a line of a source and some before and after it.
type window struct {
	source, line int32
	text         string
	first        int32 // line of it
	at           int   // where the line begins
}

// Lines of a window before and after its own.
const linesBefore, linesAfter = 3, 12

// window returns the text around a line. ok is false if there is no such line, or if it is long.
func (s *sourceText) window(line int32) (w window, ok bool) {
	n := int(line)
	if n < 0 || n >= len(s.starts) {
		return w, false
	}
	// part returns where the lines from one to another are; nowhere if they are long.
	part := func(from, to int) (at span) {
		at = span{0, len(s.text)}
		if from < len(s.starts) {
			at.at = int(s.starts[from])
		}
		if to < len(s.starts) {
			at.end = int(s.starts[to])
		}
		if from >= len(s.starts) || at.end-at.at > 4*maxColumn {
			return span{}
		}
		return at
	}
	w.first = int32(max(0, n-linesBefore))
	before, own, after := part(int(w.first), n), part(n, n+1), part(n+1, n+linesAfter)
	if own == (span{}) {
		return w, false
	}
	all := span{own.at, max(own.end, after.end)}
	if before.end > 0 {
		all.at = before.at
	}
	if w.at = own.at - all.at; w.at == 0 {
		w.first = line
	}
	w.text = s.text[all.at:all.end]
	return w, true
}

// unescape returns the text that what is in the quotes of a string of JSON stands for, and sets where its lines begin. ok is false if it is none.
func (c *content) unescape(whole []byte) (text string, ok bool) {
	const ones = 0x0101010101010101
	var all strings.Builder
	all.Grow(len(whole))
	c.starts = append(c.starts[:0], 0)
	wide, from := uint64(0), 0 // from is where what stands for itself begins
	for i := 0; i < len(whole); {
		if i+8 <= len(whole) { // there are too many backslashes in most texts for bytes.IndexByte
			eight := binary.LittleEndian.Uint64(whole[i:])
			wide |= eight & highBits
			slash, quote := eight^'\\'*ones, eight^'"'*ones
			// What is not zero in a byte is right up to the first such byte.
			n := ((slash-ones)&^slash | (quote-ones)&^quote | (eight-' '*ones)&^eight) & highBits
			if n == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(n) / 8
		}
		switch b := whole[i]; {
		case b == '"' || b < ' ':
			return "", false
		case b != '\\':
			wide |= uint64(b & 0x80)
			i++
			continue
		case i+1 == len(whole):
			return "", false
		}
		all.Write(whole[from:i])
		b := whole[i+1]
		if b == 'u' {
			r, n := unicodeEscape(whole[i:])
			if n == 0 {
				return "", false
			}
			all.WriteRune(r)
			if r == '\n' {
				c.starts = append(c.starts, uint32(all.Len()))
			}
			i += n
		} else {
			if b = unescaped[b]; b == 0 {
				return "", false
			}
			all.WriteByte(b)
			if b == '\n' {
				c.starts = append(c.starts, uint32(all.Len()))
			}
			i += 2
		}
		from = i
	}
	all.Write(whole[from:])
	if text = all.String(); wide != 0 && !utf8.ValidString(text) {
		text = string([]rune(text)) // as package json has it
		c.starts = c.starts[:1]
		for i := range len(text) {
			if text[i] == '\n' {
				c.starts = append(c.starts, uint32(i+1))
			}
		}
	}
	return text, true
}

// unicodeEscape returns the character of the `\u` that a text begins with, and how many bytes that takes: two of them for one beyond U+FFFF. It
// takes none if it is malformed.
func unicodeEscape(text []byte) (r rune, n int) {
	unit := func(text []byte) (u rune) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return -1
		}
		for _, b := range text[2:6] {
			switch {
			case b-'0' <= 9:
				b -= '0'
			case b|0x20-'a' <= 5:
				b = b | 0x20 - 'a' + 10
			default:
				return -1
			}
			u = u<<4 | rune(b)
		}
		return u
	}
	switch r = unit(text); {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if r = utf16.DecodeRune(r, unit(text[6:])); r == utf8.RuneError {
		return r, 6
	}
	return r, 12
}

// unescaped are the bytes that those after a backslash stand for, 0 where it is not one that stands for one.
var unescaped = [256]byte{'n': '\n', '"': '"', '\\': '\\', '/': '/', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// isJavaScript reports whether a source is in JavaScript or in TypeScript, also with other parts, by its name. Without an end of its name, it is code that a
// bundler has added.
func isJavaScript(source string) bool {
	source, _, _ = strings.Cut(source, "?")
	switch path.Ext(source) {
	case "", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".astro":
		return true
	}
	return false
}

// offset returns the offset of a column of the line. ok is false if there is none.
func (w *window) offset(column int32) (offset int, ok bool) {
	i := w.at
	for units := int32(0); units < column; units++ {
		r, size := utf8.DecodeRuneInString(w.text[i:])
		if size == 0 || r == '\n' {
			return 0, false
		}
		if i += size; r > 0xffff {
			units++
		}
	}
	return i, true
}

// place returns the place of an offset.
func (w *window) place(offset int) (at position) {
	at.line = w.first + int32(strings.Count(w.text[:offset], "\n"))
	for _, r := range w.text[strings.LastIndexByte(w.text[:offset], '\n')+1 : offset] {
		if at.column++; r > 0xffff {
			at.column++
		}
	}
	return at
}

// source returns the text around the place of a segment, and the offset there, −1 if there is none. ok is false if that is not known.
func (f *found) source(s *segment) (w window, offset int, ok bool) {
	if s.column > maxColumn {
		return w, 0, false
	}
	i := slices.IndexFunc(f.windows, func(w window) bool { return w.source == s.source && w.line == s.line })
	if i < 0 {
		w, lines, ok := f.of.window(s.source, s.line)
		if !ok {
			return w, -1, lines > 0 && int(s.line) >= lines
		}
		i = len(f.windows)
		f.windows = append(f.windows, w)
	}
	w = f.windows[i]
	if offset, ok = w.offset(s.column); !ok {
		offset = -1
	}
	return w, offset, true
}

// comparison is what the text of a source says of code that a map has from there.
type comparison uint8

const (
	unknown comparison = iota
	agrees
	differs
)

// compare compares code with the source at the place of the i-th segment, token by token: names may be others, and spaces and comments differ.
// If it agrees, the place is that of the last word or sign of the code.
func (f *found) compare(i int, code []byte) comparison {
	of, at := f.compared(i, code)
	if of == agrees {
		f.index, f.word = i, &at
	}
	return of
}

// compared returns what the source says of code at the place of the i-th segment, and where its last word or sign is in the source.
func (f *found) compared(i int, code []byte) (of comparison, place position) {
	w, at, ok := f.source(&f.near[i])
	switch {
	case !ok || len(code) > maxCompared:
		return unknown, place
	case at < 0:
		return differs, place
	}
	of, last := compareTokens(w.text[at:], string(code))
	switch {
	case of == agrees:
		place = w.place(at + last)
	case of == differs && strings.TrimLeft(w.text[w.at:at], " \t") == "":
		of = unknown // the map may have only lines
	}
	return of, place
}

// compareTokens compares code with a source. If it agrees, last is where the last token of it is.
func compareTokens(source, code string) (of comparison, last int) {
	code = imported(source, code)
	rest, before := source, ""
	for {
		var a, b string
		if b, code = nextToken(code); b == "" {
			return agrees, last
		}
		for a, rest = nextToken(rest); a != b && !(declares(a) && declares(b)) && (slices.Contains(dropped, a) || drops(a, b) || dropsName(before, a, b)); {
			a, rest = nextToken(rest)
		}
		before = b
		last = len(source) - len(rest) - len(a)
		switch {
		case declares(a) && declares(b): // a compiler may choose
		case strings.ContainsAny(b[:1], quotes):
			return unknown, 0 // minifiers join and cut strings
		case a == "" || inWord(a[0]) != inWord(b[0]) || !inWord(a[0]) && a != b, inWord(a[0]) && a != b && (isKeyword(a) || isKeyword(b)):
			return differs, 0
		case a == b && inWord(a[0]):
			code = afterShort(rest, code)
		}
	}
}

// quotes begin strings.
const quotes = "\"'`"

// declares reports whether a word begins a declaration of variables.
func declares(word string) bool { return word == "const" || word == "let" || word == "var" }

// drops reports whether minifiers drop a sign before another token: a comma or a semicolon at the end of what is closed. The sign of a private name
// is not in the code if that is from behind it: terser has a segment there.
func drops(sign, before string) bool {
	return sign == "," && strings.Contains(")]}", before) || sign == ";" && before == "}" || sign == "#" && inWord(before[0])
}

// imported returns the code from the name of what is imported on that it and the source begin with: compilers have `a.total` of `total`, or `a.default`, Metro
// `r(d[1]).total`.
func imported(source, code string) string {
	name, _ := nextToken(source)
	module, rest := nextToken(code)
	if name == "" || !inWord(name[0]) || isKeyword(name) || module == "" || !inWord(module[0]) || module == name {
		return code
	}
	if i := strings.IndexByte(rest, ')') + 1; i > 0 && required([]byte(code[:len(code)-len(rest)+i])) > 0 {
		rest = rest[i:]
	}
	dot, rest := nextToken(rest)
	member, after := nextToken(rest)
	switch {
	case dot != "." || member == "":
	case member == name:
		return rest
	case member == "default":
		return name + after
	}
	return code
}

// afterShort returns the code without the value that a minifier has given to a member, `{total: t}` for `{total}`, whose name is before both texts.
func afterShort(source, code string) string {
	colon, rest := nextToken(code)
	value, rest := nextToken(rest)
	if next, _ := nextToken(source); colon == ":" && value != "" && inWord(value[0]) && next != "" && strings.Contains(",}=", next) {
		return rest
	}
	return code
}

// dropsName reports whether minifiers drop a word between two others: the name of a function or a class that stands where it is used.
func dropsName(before, name, after string) bool {
	return (before == "class" || before == "function") && name != "" && inWord(name[0]) && !isKeyword(name) && (!inWord(after[0]) || isKeyword(after))
}

// dropped are words of a source that minifiers drop: those before what is returned or declared, and before calls that make errors.
var dropped = []string{"const", "let", "new", "return", "var"}

// isBrace reports whether a brace is at the place of a segment in the source.
func (f *found) isBrace(s *segment) bool {
	w, i, ok := f.source(s)
	return ok && i >= 0 && i < len(w.text) && (w.text[i] == '{' || w.text[i] == '}')
}

// sound reports whether the source can have something of the code at the place of a segment: it has that line, something stands there, and that is not
// the middle of a word, nor between statements if the code is a word. Where compilers add code of their own, some maps have its places as if they were
// those of the source, or where the statement before ends, or its block begins.
func (f *found) sound(r *row, code byte) bool {
	at := &f.near[f.index]
	if f.word != nil {
		return true
	}
	w, offset, ok := f.source(at)
	switch {
	case !ok:
		return true
	case offset < 0 || !w.holdsPlace(offset, at.column) || w.isBetween(offset, code):
		return false
	}
	wrong, same, others := 0, 0, 0 // the latter two are strings
	for i := max(0, f.index-close); i <= min(f.index+close, len(f.near)-1); i++ {
		s := &f.near[i]
		if s.generatedLine != at.generatedLine || s.source != at.source {
			continue
		}
		of, ok := w.ofLine(s.line)
		if !ok {
			continue // it would have to be read
		}
		if offset, ok = of.offset(s.column); !ok || !of.holdsPlace(offset, s.column) {
			wrong++
			continue
		}
		a := simpleString(of.text[offset:])
		if a == "" {
			continue
		}
		_, column := f.generated(i)
		from, _ := r.offset(column)
		r.want(from, from+maxToken)
		switch b := simpleString(string(r.text[min(from, len(r.text)):min(from+maxToken, len(r.text))])); {
		case b == "":
		case strings.HasPrefix(a, b) || strings.HasPrefix(b, a): // minifiers join strings
			same++
		default:
			others++
		}
	}
	return wrong <= close/2 && (others < 2 || same > 0)
}

// Of the segments near a place, those whose words and strings are compared with the source: how many before and after it, how many more if few of these
// have what compilers leave, how many must have that, and how many of these must be in the source: one of so many, or of fewer if that at the place itself is not.
const (
	echoed      = 8
	echoedMost  = 32
	minEchoed   = 4
	shareEchoed = 5
	shareOwn    = 2
)

// echoes reports whether the source has what the code has near the place: words and strings that compilers leave. Another source, or another text of it,
// has few of them at the places of the map. It returns true if the code has too few of them, or if the map does not have the source.
func (c *code) echoes(f *found) bool {
	w, _, ok := f.source(&f.near[f.index])
	if !ok || w.text == "" {
		return true
	}
	of := echo{code: c, f: f, w: &w, line: -1}
	share := shareEchoed
	if of.add(f.index); of.all > of.same {
		share = shareOwn
	}
	for k := 1; k <= echoedMost; k++ {
		if of.same*share > 2*echoed || k > echoed && of.all >= minEchoed {
			break
		}
		of.add(f.index - k)
		of.add(f.index + k)
	}
	return of.all < minEchoed || of.same*share >= of.all
}

// echo counts words and strings of code, and those of them that the source has, too.
type echo struct {
	code *code
	f    *found
	w    *window
	// line is that of r, −1 for none.
	line      int
	r         row
	all, same int
}

// add adds what is at the place of the i-th segment. Of several segments with one place in the source, none counts: maps of maps have those of code that a
// compiler has added.
func (e *echo) add(i int) {
	near := e.f.near
	if i < 0 || i >= len(near) || near[i].source != e.w.source || i > 0 && near[i-1].ofSame(&near[i]) || i+1 < len(near) && near[i+1].ofSame(&near[i]) {
		return
	}
	of, ok := e.w.ofLine(near[i].line)
	if !ok || near[i].column > maxColumn {
		return // it would have to be read
	}
	n, column := e.f.generated(i)
	if n != e.line {
		if e.r, ok = e.code.row(n); !ok {
			return
		}
		e.line = n
	}
	from, ok := e.r.offset(column)
	if !ok || from >= len(e.r.text) || parts(e.r.text, from) {
		return
	}
	source := ""
	if at, ok := of.offset(near[i].column); ok {
		source = of.text[at:]
	}
	to := e.end(i, n, from)
	e.r.want(from, to)
	code := string(e.r.text[from:to])
	if strings.IndexByte(quotes, code[0]) >= 0 {
		text := simpleString(code)
		if text == "" {
			return
		}
		e.all++
		if a := simpleString(source); a != "" && (strings.HasPrefix(a, text) || strings.HasPrefix(text, a)) {
			e.same++
		}
		return
	}
	// A map may have only lines. What is in braces may begin there, or a name in quotes.
	tokens := 1
	word, rest := nextToken(code)
	for rest != "" && !isEcho(word) && strings.IndexByte(quotes, rest[0]) < 0 {
		word, rest = nextToken(rest)
		tokens++
	}
	if !isEcho(word) {
		return
	}
	a, rest := nextToken(source)
	if a == calledModule || a != "" && isDigit(a[0]) {
		return
	}
	e.all++
	for k := 0; k < 2*tokens && a != "" && a != word && (k < tokens-1 || !inWord(a[0])); k++ {
		a, rest = nextToken(rest)
	}
	if a == word {
		e.same++
	}
}

// end returns the offset of the end of what is compared from the i-th segment on, which begins in a line of the code at an offset.
func (e *echo) end(i, line, from int) int {
	to := min(from+maxToken, len(e.r.text))
	for k := i + 1; k < len(e.f.near); k++ {
		n, column := e.f.generated(k)
		if n != line {
			break
		}
		if at, ok := e.r.offset(column); ok && at > from {
			return min(at, to)
		}
	}
	return to
}

// isEcho reports whether a token is a word that compilers leave.
func isEcho(token string) bool {
	return len(token) >= minEcho && inWord(token[0]) && !isDigit(token[0]) && !slices.Contains(notEchoed, token)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// ofSame reports whether two segments are of one place of a source.
func (s *segment) ofSame(other *segment) bool {
	return s.source == other.source && s.line == other.line && s.column == other.column
}

// minEcho is the length of a word that compilers hardly make up themselves.
const minEcho = 3

// calledModule calls a module, which bundlers have a function of their own for. notEchoed are words that compilers put in the place of others.
const calledModule = "require"

var notEchoed = strings.Fields("const else for function let return this undefined var void while")

// simpleString returns the string that a text begins with, "" if it is none of ASCII without escapes and values.
func simpleString(text string) string {
	if text == "" || strings.IndexByte(quotes, text[0]) < 0 {
		return ""
	}
	n := strings.IndexByte(text[1:], text[0])
	if n < 0 || n >= maxToken-2 {
		return ""
	}
	of := text[1 : n+1]
	if strings.ContainsAny(of, "\\$\n") || strings.ContainsFunc(of, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return ""
	}
	return of
}

// ofLine returns the same text as that around another line of it. ok is false if it does not have that line.
func (w *window) ofLine(line int32) (of window, ok bool) {
	of = *w
	for of.line = line; line < w.line; line++ {
		if of.at == 0 {
			return of, false
		}
		of.at = strings.LastIndexByte(of.text[:of.at-1], '\n') + 1
	}
	for ; line > w.line; line-- {
		n := strings.IndexByte(of.text[of.at:], '\n')
		if n < 0 {
			return of, false
		}
		of.at += n + 1
	}
	return of, true
}

// isBetween reports whether a block begins at an offset, or an expression or a statement ends there, where the code has a word or a call.
func (w *window) isBetween(offset int, code byte) bool {
	if offset >= len(w.text) || !inWord(code) && code != '(' {
		return false
	}
	switch w.text[offset] {
	case ')':
		return code != '('
	case ';':
		return true
	case '{':
		before := strings.TrimRight(w.text[:offset], " \t\r\n")
		for _, end := range [...]string{")", "=>", "try", "do", "else", "finally"} {
			if strings.HasSuffix(before, end) {
				return true
			}
		}
	}
	return false
}

// holdsPlace reports whether something is at an offset, which is that column of its line.
func (w *window) holdsPlace(offset int, column int32) bool {
	rest, _, _ := strings.Cut(w.text[offset:], "\n")
	switch {
	case column == 0:
		return true
	case strings.TrimSpace(rest) == "":
		return false
	case !inWord(w.text[offset-1]) || !inWord(rest[0]) || strings.HasPrefix(rest, "${"):
		return true
	}
	return len(rest) < 2 || !inWord(rest[1]) // swc and rolldown have the last letter of what stands in parentheses
}

// onOneLine reports whether what closes at a place of the source of the segment opens in the same line.
func (f *found) onOneLine(at *position) bool {
	s := f.near[f.index]
	s.line, s.column = at.line, at.column
	w, end, ok := f.source(&s)
	if !ok || end < 0 || end >= len(w.text) {
		return false
	}
	depth := 0
	for i := end; i >= w.at; i-- {
		switch w.text[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			depth--
		}
		if depth <= 0 {
			return true
		}
	}
	return false
}

// hasWord reports whether the line of a segment in the source has a word.
func (f *found) hasWord(s *segment, word string) bool {
	w, _, ok := f.source(s)
	if !ok {
		return false
	}
	line, _, _ := strings.Cut(w.text[w.at:], "\n")
	return hasToken(line, word)
}

// nextToken returns the next word or sign of a text in JavaScript, "" for none, and what follows it.
func nextToken(text string) (token, rest string) {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case text == "":
			return "", ""
		case strings.HasPrefix(text, "//"):
			_, text, _ = strings.Cut(text, "\n")
			continue
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text, "*/")
			continue
		case !inWord(text[0]):
			return text[:1], text[1:]
		}
		n := 1
		for n < len(text) && inWord(text[n]) {
			n++
		}
		return text[:n], text[n:]
	}
}

// keywords are words that minifiers leave.
var keywords = strings.Fields("async await break case catch class continue default delete do else extends finally for function if in instanceof " +
	"new of return static super switch throw try typeof void while with yield")

func isKeyword(word string) bool {
	_, is := slices.BinarySearch(keywords, word)
	return is
}

// maxFunctionLines bounds the lines of a function that was put in the place of its name.
const maxFunctionLines = 1 << 10

// callOf returns where the name of a function is in its call, whose first argument is at the place of a segment, if that function was put in the
// place of its name, and ends at the place of another segment. ok is false if it is not this one: its first line must have the name.
func (f *found) callOf(end, argument *segment) (at position, ok bool) {
	w, i, ok := f.source(argument)
	if !ok || i < 0 {
		return at, false
	}
	before, called := strings.CutSuffix(strings.TrimRight(w.text[:i], " \t\r\n"), "(")
	called = called || strings.HasPrefix(w.text[i:], "(") // as maps of a map have it
	before = strings.TrimRight(before, " \t\r\n")
	begin := len(before)
	for begin > 0 && inWord(before[begin-1]) {
		begin--
	}
	name := before[begin:]
	if !called || name == "" || isKeyword(name) {
		return at, false
	}
	first, ok := f.firstLine(end)
	if !ok || !hasToken(first, name) {
		return at, false
	}
	return w.place(begin), true
}

// firstLine returns the line in which a function begins that ends at the place of a segment, up to that place: the one with its indentation.
func (f *found) firstLine(end *segment) (line string, ok bool) {
	w, i, ok := f.source(end)
	if !ok || i < 0 || !strings.HasPrefix(w.text[i:], "}") {
		return "", false
	}
	indent := w.text[w.at:i]
	if strings.TrimLeft(indent, " \t") != "" {
		return indent, true // all of it is in one line
	}
	for n := end.line - 1; n >= 0 && n > end.line-maxFunctionLines; n-- {
		w, _, ok := f.of.window(end.source, n)
		if !ok {
			return "", false
		}
		line, _, _ := strings.Cut(w.text[w.at:], "\n")
		text := strings.TrimLeft(line, " \t\r")
		if text == "" || text[0] == ')' || len(line)-len(text) > len(indent) {
			continue // of what it does, or the end of its parameters
		}
		return line, strings.HasPrefix(indent, line[:len(line)-len(text)])
	}
	return "", false
}

// hasToken reports whether a line has a word.
func hasToken(line, word string) bool {
	for token := ""; ; {
		if token, line = nextToken(line); token == word || token == "" {
			return token == word
		}
	}
}

// Words of operators, whose place is that of a frame.
const awaitWord, newWord = "await", "new"

// wordBefore returns where an operator is in the source that what a segment has follows. ok is false if there is none.
func (f *found) wordBefore(s *segment, word string) (at position, ok bool) {
	w, end, ok := f.source(s)
	if !ok || end < 0 {
		return at, false
	}
	before := strings.TrimRight(w.text[:end], " \t\r\n(")
	if !strings.HasSuffix(before, word) || len(before) > len(word) && inWord(before[len(before)-len(word)-1]) {
		return at, false
	}
	return w.place(len(before) - len(word)), true
}
