package markup

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"qss-filter/filter/scan"
)

// FieldError is the error of a malformed element.
type FieldError struct {
	// Offset is the position in the line, in bytes from 0.
	Offset int
	// Msg says what was expected there and what was found.
	Msg string
}

// Error returns the message without the position.
func (e *FieldError) Error() string { return e.Msg }

// sourceWidth is the number of columns of a source line that Explain shows, including the ellipses of a truncated line.
const sourceWidth = 100

// Explain returns the message for an error in line, which is line lineNumber of the log, counted from 1. If err wraps a *FieldError, the
// message has three lines: the error with line number and byte column, the source line, and a caret below the position. There is no
// newline after the last one. Bytes that are not printable are shown as dots, so that they cannot control the terminal, and of a long
// line only the part around the position is shown.
func Explain(lineNumber int, line []byte, err error) string {
	var b strings.Builder
	b.WriteString("line ")
	b.WriteString(strconv.Itoa(lineNumber))
	var at *FieldError
	if !errors.As(err, &at) {
		b.WriteString(": " + err.Error())
		return b.String()
	}
	offset := min(max(at.Offset, 0), len(line))
	b.WriteString(":" + strconv.Itoa(offset+1) + ": " + err.Error() + "\n")
	source, caret := excerpt(line, offset)
	b.WriteString(source + "\n" + strings.Repeat(" ", caret) + "^")
	return b.String()
}

// excerpt returns the part of line around offset as printable columns, and the column of offset in it.
func excerpt(line []byte, offset int) (source string, caret int) {
	// A rune has at most UTFMax bytes, so these bytes contain all columns that can be shown.
	from := max(0, offset-utf8.UTFMax*sourceWidth)
	to := min(len(line), offset+utf8.UTFMax*sourceWidth)
	for from > 0 && from < offset && !utf8.RuneStart(line[from]) {
		from++
	}
	before, after := printable(line[from:offset]), printable(line[offset:to])
	left, right := from > 0, to < len(line)
	if room := sourceWidth - min(len(after), sourceWidth/2); len(before) > room {
		before, left = before[len(before)-room:], true
	}
	if room := sourceWidth - len(before); len(after) > room {
		after, right = after[:room], true
	}
	if left && len(before) > 0 {
		before[0] = '…'
	}
	if right && len(after) > 0 {
		after[len(after)-1] = '…'
	}
	return string(before) + string(after), len(before)
}

// printable returns a printable rune, which has one column in most fonts, for each rune of b.
func printable(b []byte) []rune {
	out := make([]rune, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r >= ' ' && r < utf8.RuneSelf-1:
		case r == '\t':
			r = ' '
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r), unicode.Is(unicode.M, r):
			r = '.'
		}
		out = append(out, r)
		b = b[n:]
	}
	return out
}

// quoteWidth is the number of columns of a field that a message quotes.
const quoteWidth = 40

// quote quotes a field of the log in a message.
func quote(field string) string {
	cut := field[:min(len(field), utf8.UTFMax*(quoteWidth+1))]
	runes := printable([]byte(cut))
	if len(runes) > quoteWidth {
		return "'" + string(runes[:quoteWidth]) + "…'"
	}
	return "'" + string(runes) + "'"
}

// expectation converts participle's "unexpected token … (expected Address …)" to the terms of the format. The expected part begins, after
// a separating colon, with the name of a production or with a quoted word.
func expectation(message string) string {
	_, what, ok := strings.Cut(message, "(expected ")
	if !ok {
		return "no further field"
	}
	what = strings.TrimLeft(what, "( ")
	what = strings.TrimPrefix(what, `":" `)
	what, _, _ = strings.Cut(strings.TrimLeft(what, "( "), " ")
	what = strings.TrimRight(what, ")?*+")
	if words, ok := fieldWords[what]; ok {
		return words
	}
	return strings.ReplaceAll(what, `"`, "'")
}

// fieldWords maps productions and literals of the grammar to the terms of the format.
var fieldWords = map[string]string{
	"Address": "address", "Size": "size", "ModuleID": "module ID", "FrameNumber": "frame number", "BuildID": "build ID", "Mode": "mode",
	"PcType": "PC type 'ra' or 'pc'", "Pair": "key", "DumpType": "dump file type", `"elf"`: "module type 'elf'", `"load"`: "mmap type 'load'",
	"<modulename>": "module name", "<symbolname>": "name", "<rest>": "name", `":"`: "one more field",
}

// fieldAt quotes the field at an offset in an element without its braces.
func fieldAt(inside string, offset int) string {
	if offset >= len(inside) && !strings.HasSuffix(inside, ":") {
		return "the end of the element"
	}
	field, _, _ := strings.Cut(inside[min(offset, len(inside)):], ":")
	return quote(field)
}

// Grammar returns the grammar of an element without its braces in EBNF. Its lexical classes are documented at the constants of class.
func Grammar() string { return elementParser().String() }

// element is the start symbol of the grammar. Its productions specify the fields of each tag: their order, their classes, which ones are
// optional, and where further fields are ignored. They are the only specification: participle parses malformed elements with them to
// explain the error, and layoutOf derives the table of the scanner from them. The type names are the names of the productions that Grammar
// prints and that errors contain.
type element struct {
	Reset    *reset    `parser:"@@"`
	Module   *module   `parser:"| @@"`
	MMap     *mmap     `parser:"| @@"`
	BT       *bt       `parser:"| @@"`
	PC       *pc       `parser:"| @@"`
	Data     *data     `parser:"| @@"`
	Symbol   *symbol   `parser:"| @@"`
	Hexdict  *hexdict  `parser:"| @@"`
	Dumpfile *dumpfile `parser:"| @@"`
}

type (
	reset struct {
		Tag string `parser:"@'reset':Tag More?"`
	}
	module struct {
		ID      moduleID `parser:"'module':Tag ':' @@"`
		Name    string   `parser:"':' @ModuleName ':' 'elf'"`
		BuildID buildID  `parser:"':' @@ More?"`
	}
	mmap struct {
		Start    address  `parser:"'mmap':Tag ':' @@"`
		Size     size     `parser:"':' @@ ':' 'load'"`
		ModuleID moduleID `parser:"':' @@"`
		Mode     mode     `parser:"':' @@"`
		Rel      address  `parser:"':' @@ More?"`
	}
	bt struct {
		Num     frameNumber `parser:"'bt':Tag ':' @@"`
		Addr    address     `parser:"':' @@"`
		Type    *pcType     `parser:"(':' @@)?"`
		Message string      `parser:"(':' @Rest)?"`
	}
	pc struct {
		Addr address `parser:"'pc':Tag ':' @@"`
		Type *pcType `parser:"(':' @@ More?)?"`
	}
	data struct {
		Addr address `parser:"'data':Tag ':' @@ More?"`
	}
	symbol struct {
		Name string `parser:"'symbol':Tag ':' @SymbolName More?"`
	}
	hexdict struct {
		Pairs     []pair     `parser:"'hexdict':Tag ':' ( @@ (':' @@)*"`
		Registers []register `parser:"| @@+ )"`
	}
	dumpfile struct {
		Kind dumpType `parser:"'dumpfile':Tag ':' @@"`
		Name string   `parser:"':' @Rest"`
	}
	pair struct {
		Key   string  `parser:"@Key"`
		Value address `parser:"':' @@"`
	}
	register struct { // in a dump, such as `RIP: 0x6ee17076fb80 RSP: 0`
		Key   string  `parser:"@Register"`
		Value address `parser:"':' @@"`
	}
	dumpType struct {
		Value string `parser:"@Text"`
	}
	pcType struct {
		Value string `parser:"@PCType"`
	}
	moduleID struct {
		Value integer `parser:"@Integer"`
	}
	size struct {
		Value integer `parser:"@Integer"`
	}
	frameNumber struct {
		Value decimal `parser:"@Decimal"`
	}
	address struct {
		Value pointer `parser:"@Address"`
	}
	buildID struct {
		Value hexBytes `parser:"@HexDigits"`
	}
	mode struct {
		Value lower `parser:"@Mode"`
	}
)

// elementParser returns the parser, which is built for the first malformed element. It needs two tokens of look-ahead to distinguish a type
// from a message.
var elementParser = sync.OnceValue(func() *participle.Parser[element] {
	return participle.MustBuild[element](participle.Lexer(fieldLexer{}), participle.UseLookahead(2))
})

// maxInside bounds the text of an element that is parsed, in bytes. Paths have at most 4096 bytes.
const maxInside = 16 << 10

// ErrMalformed is the error of malformed fields if Element.Terse is set.
var ErrMalformed = errors.New("malformed element")

// parse parses the element's fields with the grammar. The error is a *FieldError, or ErrMalformed if Terse is set.
func (e *Element) parse() (*element, error) {
	if e.Terse {
		return nil, ErrMalformed
	}
	if n := e.End - e.Start; n > maxInside {
		return nil, &FieldError{Offset: e.Start, Msg: fmt.Sprintf("expected an element of at most %d bytes; found %d", maxInside, n)}
	}
	inside := string(e.Name)
	if e.Body != nil {
		inside += ":" + string(e.Body)
	}
	p, err := elementParser().ParseString("", inside)
	if err == nil {
		return p, nil
	}
	var at participle.Error
	if !errors.As(err, &at) {
		return nil, &FieldError{Offset: e.BodyStart, Msg: err.Error()}
	}
	offset := at.Position().Offset
	var expected string
	var value wrongValue
	if errors.As(err, &value) {
		expected = value.Error()
	} else {
		expected = expectation(at.Message())
	}
	return nil, &FieldError{
		Offset: e.Start + 3 + offset,
		Msg:    fmt.Sprintf("expected %s; found %s", expected, fieldAt(inside, offset)),
	}
}

// explain returns the error of an element that the scanner refused.
func (e *Element) explain() error {
	if _, err := e.parse(); err != nil {
		return err
	}
	return &FieldError{Offset: e.BodyStart, Msg: "expected other fields than those of a " + string(e.Name) + " element"}
}

// wrongTag returns the error of an element with another tag than want.
func (e *Element) wrongTag(want string) error {
	return &FieldError{Offset: e.Start + 3, Msg: "expected tag " + want + "; found " + quote(string(e.Name))}
}

// Token types. Those from firstClass on are the classes of fields.
const (
	colonToken lexer.TokenType = iota + 1
	tagToken                   // the text before the first colon
	wordToken                  // a literal, or a field that is not of the expected class
	moreToken                  // all further fields, with their colons
	firstClass
)

// fieldLexer splits an element without its braces into fields, according to the layout of its tag.
type fieldLexer struct{}

// Symbols returns the names of the token types.
func (fieldLexer) Symbols() map[string]lexer.TokenType {
	s := map[string]lexer.TokenType{"EOF": lexer.EOF, "Colon": colonToken, "Tag": tagToken, "Word": wordToken, "More": moreToken}
	for c, name := range classNames {
		s[name] = firstClass + lexer.TokenType(c)
	}
	return s
}

// Lex is LexString for all data of r.
func (l fieldLexer) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return l.LexString(name, string(b))
}

// LexString splits an element without its braces. An empty field is a token only if its class allows that; otherwise the tokens are
// consecutive colons.
func (fieldLexer) LexString(_ string, inside string) (lexer.Lexer, error) {
	var tokens tokenList
	text := []byte(inside)
	at := colonOrEnd(text)
	tag := text[:at]
	tokens.add(tagToken, text, 0, at)
	l := &layouts[tagOf(tag)]
	if l.dump != nil && at < len(text) && !l.scan(text[at+1:], new([maxFields]value)) && l.dump.scan(text[at+1:], new([maxFields]value)) {
		l.dump.lex(&tokens, text, at)
		tokens.add(lexer.EOF, text, len(text), len(text))
		return &tokens, nil
	}
	for i := 0; at < len(text) && i < len(l.fields); i++ {
		f := &l.fields[i]
		if f.omitted(text, at+1, l.fields[i+1:]) {
			continue
		}
		tokens.add(colonToken, text, at, at+1)
		end := f.end(text, at+1)
		if f.class.accepts(text[at+1 : end]) {
			tokens.add(f.class.token(), text, at+1, end)
		} else if end > at+1 {
			tokens.add(wordToken, text, at+1, end)
		}
		if at = end; i == len(l.fields)-1 && l.repeats {
			i = -1
		}
	}
	switch {
	case at == len(text):
	case l.more:
		tokens.add(moreToken, text, at, len(text))
	default:
		tokens.add(colonToken, text, at, at+1)
		tokens.add(wordToken, text, at+1, len(text))
	}
	tokens.add(lexer.EOF, text, len(text), len(text))
	return &tokens, nil
}

// lex splits a dump. text[at] is the first colon of the element. Spaces are not tokens.
func (d *dumpLayout) lex(tokens *tokenList, text []byte, at int) {
	tokens.add(colonToken, text, at, at+1)
	for at = scan.Spaces(text, at+1); at < len(text); at = scan.Spaces(text, at) {
		end := d.key.end(text, at)
		tokens.add(d.key.class.token(), text, at, end)
		tokens.add(colonToken, text, end, end+1)
		at = scan.Spaces(text, end+1)
		_, end, _ = d.value.read(text, at)
		tokens.add(d.value.class.token(), text, at, end)
		at = end
	}
}

// token returns the token type of the class.
func (c class) token() lexer.TokenType { return firstClass + lexer.TokenType(c) }

// tokenList is the lexer of an element that was split in advance.
type tokenList []lexer.Token

// add appends text[start:end] as a token.
func (t *tokenList) add(class lexer.TokenType, text []byte, start, end int) {
	*t = append(*t, lexer.Token{Type: class, Value: string(text[start:end]), Pos: lexer.Position{Offset: start, Line: 1, Column: start + 1}})
}

// Next returns the next token. The last one is EOF, which is repeated.
func (t *tokenList) Next() (lexer.Token, error) {
	first := (*t)[0]
	if len(*t) > 1 {
		*t = (*t)[1:]
	}
	return first, nil
}
