package sourcemap

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// sourceText is the content of a source that the map has, as JSON has it. Places in it are as those of code.
type sourceText struct {
	text   []byte
	starts []uint32 // of its lines
}

// Bounds of what is compared: bytes of the content of a source, and of all that are remembered; columns of a line, and bytes of code.
const (
	maxText     = 4 << 20
	maxTexts    = 16 << 20
	maxColumn   = 1 << 12
	maxCompared = 256
)

// sourceText returns the content of a source in JavaScript or TypeScript, nil if the map has none.
func (m *Map) sourceText(source int32) *sourceText {
	if source < 0 || int(source) >= len(m.contents) || !isJavaScript(m.sources[source]) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, known := m.texts[source]
	if known {
		return of
	}
	if at := m.contents[source]; at.end-at.at <= maxText {
		if text := m.text.read(at); len(text) > 2 && text[0] == '"' {
			of = newSourceText(text[1 : len(text)-1])
			m.textBytes += len(text)
		}
	}
	if m.texts == nil || m.textBytes > maxTexts {
		m.texts, m.textBytes = map[int32]*sourceText{}, 0
	}
	m.texts[source] = of
	return of
}

func newSourceText(text []byte) *sourceText {
	of := &sourceText{text, []uint32{0}}
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '\\')
		if n < 0 || i+n+1 >= len(text) {
			return of
		}
		if i += n + 2; text[i-1] == 'n' {
			of.starts = append(of.starts, uint32(i))
		}
	}
}

// window is a line of a source and some before and after it.
type window struct {
	text  string
	first int32 // line of it
	at    int   // where the line begins
}

// Lines of a window before and after its own.
const linesBefore, linesAfter = 3, 12

// window returns the text around a line. ok is false if there is no such line, or if it is long.
func (s *sourceText) window(line int32) (w window, ok bool) {
	n := int(line)
	if n < 0 || n >= len(s.starts) {
		return w, false
	}
	part := func(from, to int) (text string) {
		end := len(s.text)
		if to < len(s.starts) {
			end = int(s.starts[to])
		}
		begin := int(s.starts[from])
		if end-begin > 4*maxColumn {
			return ""
		}
		err := json.Unmarshal(slices.Concat([]byte{'"'}, s.text[begin:end], []byte{'"'}), &text)
		ok = ok || from == n && err == nil
		return text
	}
	w.first = int32(max(0, n-linesBefore))
	before := part(int(w.first), n)
	if w.at = len(before); before == "" {
		w.first = line
	}
	w.text = before + part(n, min(n+1, len(s.starts)))
	if n+1 < len(s.starts) {
		w.text += part(n+1, n+linesAfter)
	}
	return w, ok
}

// isJavaScript reports whether a source is in JavaScript or in TypeScript, also with other parts, by its name.
func isJavaScript(source string) bool {
	source, _, _ = strings.Cut(source, "?")
	switch path.Ext(source) {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".astro":
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
func (m *Map) source(s *segment) (w window, offset int, ok bool) {
	of := m.sourceText(s.source)
	if of == nil || s.column > maxColumn {
		return w, 0, false
	}
	if w, ok = of.window(s.line); !ok {
		return w, -1, int(s.line) >= len(of.starts)
	}
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

// compare compares code with the source at the place of a segment, token by token: names may be others, and spaces and comments differ. If it
// agrees, at is the place of the last token.
func (m *Map) compare(s *segment, code []byte) (of comparison, at position) {
	w, i, ok := m.source(s)
	switch {
	case !ok || len(code) > maxCompared:
		return unknown, at
	case i < 0:
		return differs, at
	}
	of, last := compareTokens(w.text[i:], string(code))
	switch {
	case of == agrees:
		at = w.place(i + last)
	case of == differs && strings.TrimLeft(w.text[w.at:i], " \t") == "":
		of = unknown // the map may have only lines
	}
	return of, at
}

// compareTokens compares code with a source. If it agrees, last is where the last token of it is.
func compareTokens(source, code string) (of comparison, last int) {
	rest := source
	for {
		var a, b string
		if b, code = nextToken(code); b == "" {
			return agrees, last
		}
		for a, rest = nextToken(rest); a != b && (slices.Contains(dropped, a) || drops(a, b)); {
			a, rest = nextToken(rest)
		}
		last = len(source) - len(rest) - len(a)
		switch {
		case strings.ContainsAny(b[:1], "\"'`"):
			return unknown, 0 // minifiers join and cut strings
		case a == "" || inWord(a[0]) != inWord(b[0]) || !inWord(a[0]) && a != b, inWord(a[0]) && a != b && (isKeyword(a) || isKeyword(b)):
			return differs, 0
		}
	}
}

// drops reports whether minifiers drop a sign before another one: a comma or a semicolon at the end of what is closed.
func drops(sign, before string) bool {
	return sign == "," && strings.Contains(")]}", before) || sign == ";" && before == "}"
}

// dropped are words of a source that minifiers drop: those before what is returned or declared, and before calls that make errors.
var dropped = []string{"const", "let", "new", "return", "var"}

// isBrace reports whether a brace is at the place of a segment in the source.
func (f *found) isBrace(s *segment) bool {
	w, i, ok := f.of.source(s)
	return ok && i >= 0 && i < len(w.text) && (w.text[i] == '{' || w.text[i] == '}')
}

// hasWord reports whether the line of a segment in the source has a word.
func (m *Map) hasWord(s *segment, word string) bool {
	w, _, ok := m.source(s)
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
	w, i, ok := f.of.source(argument)
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
	w, i, ok := f.of.source(end)
	if !ok || i < 0 || !strings.HasPrefix(w.text[i:], "}") {
		return "", false
	}
	indent := w.text[w.at:i]
	if strings.TrimLeft(indent, " \t") != "" {
		return indent, true // all of it is in one line
	}
	of := f.of.sourceText(end.source)
	for n := end.line - 1; n >= 0 && n > end.line-maxFunctionLines; n-- {
		w, ok := of.window(n)
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

const awaitWord = "await"

// awaitBefore returns where the word is in the source that waits for what a segment has. ok is false if there is none.
func (m *Map) awaitBefore(s *segment) (at position, ok bool) {
	w, end, ok := m.source(s)
	if !ok || end < 0 {
		return at, false
	}
	before := strings.TrimRight(w.text[:end], " \t\r\n(")
	if !strings.HasSuffix(before, awaitWord) || len(before) > len(awaitWord) && inWord(before[len(before)-len(awaitWord)-1]) {
		return at, false
	}
	return w.place(len(before) - len(awaitWord)), true
}
