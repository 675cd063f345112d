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

// FieldError says what is wrong with an element.
type FieldError struct {
	// Offset is the place in the line, in bytes from 0.
	Offset int
	// Msg says what was expected there and what was found.
	Msg string
}

// Error is the message alone.
func (e *FieldError) Error() string { return e.Msg }

// sourceWidth is how many columns of a source line Explain shows, the marks of what was cut included.
const sourceWidth = 100

// Explain returns the message for an error of line, which is the lineNumber-th of the log, counted from 1. Where err is a
// *FieldError the message has three lines: what is wrong, with line number and byte column, then the source line, then a
// caret below the place. There is no line end after the last one. Bytes of the log that are not printable are shown
// as dots, so that they cannot steer the terminal, and of a long line only the surroundings of the place are shown.
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
	// No rune needs more than UTFMax bytes, so these bytes hold all columns that can be shown.
	from := max(0, offset-utf8.UTFMax*sourceWidth)
	to := min(len(line), offset+utf8.UTFMax*sourceWidth)
	for from > 0 && from < offset && !utf8.RuneStart(line[from]) {
		from++
	}
	before, after := harmless(line[from:offset]), harmless(line[offset:to])
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

// harmless returns one printable rune, of one column in most fonts, for each rune of b.
func harmless(b []byte) []rune {
	out := make([]rune, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
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

// quoteWidth is how many columns of a field a message quotes.
const quoteWidth = 40

// quote puts a field of the log into a message.
func quote(field string) string {
	cut := field[:min(len(field), utf8.UTFMax*(quoteWidth+1))]
	runes := harmless([]byte(cut))
	if len(runes) > quoteWidth {
		return "'" + string(runes[:quoteWidth]) + "…'"
	}
	return "'" + string(runes) + "'"
}

// expectation puts participle's "unexpected token … (expected Address …)" into the words of the format. What is expected
// begins with a production's name or with a quoted word, after the colon that separates it.
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

var fieldWords = map[string]string{
	"Address": "address", "Size": "size", "ModuleID": "module ID", "FrameNumber": "frame number", "BuildID": "build ID", "Mode": "mode",
	"PcType": "PC type 'ra' or 'pc'", "Pair": "key", "DumpType": "dump file type", `"elf"`: "module type 'elf'", `"load"`: "mmap type 'load'",
	"<modulename>": "module name", "<symbolname>": "name", "<rest>": "name", `":"`: "one more field",
}

// fieldAt quotes the field at an offset of the inside of an element.
func fieldAt(inside string, offset int) string {
	if offset >= len(inside) && !strings.HasSuffix(inside, ":") {
		return "the end of the element"
	}
	field, _, _ := strings.Cut(inside[min(offset, len(inside)):], ":")
	return quote(field)
}

// Grammar returns the grammar of an element, without its braces, in EBNF. The lexical classes that it names are described with the
// constants of class.
func Grammar() string { return elementParser().String() }

// The productions of an element state the fields of each tag: their order, their classes, which may be missing, and where others may
// follow that are ignored. It is stated nowhere else: participle parses by it what is to be explained, and layoutOf takes from it what
// the scanner does. The names of the types are those of the productions that Grammar prints, and those that an error names as expected.
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
	register struct { // of a dump, `RIP: 0x6ee17076fb80 RSP: 0`
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

// elementParser builds the parser when the first malformed element comes by. Two tokens are looked at to tell a type from a message.
var elementParser = sync.OnceValue(func() *participle.Parser[element] {
	return participle.MustBuild[element](participle.Lexer(fieldLexer{}), participle.UseLookahead(2))
})

// maxInside bounds the text that is parsed, in bytes: paths end at 4096.
const maxInside = 16 << 10

// ErrMalformed is the error of a terse element's fields.
var ErrMalformed = errors.New("malformed element")

// parse reads the element's fields through the grammar. The error is a *FieldError, or ErrMalformed where the element is terse.
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

// explain returns what is wrong with an element that the scanner refused.
func (e *Element) explain() error {
	if _, err := e.parse(); err != nil {
		return err
	}
	return &FieldError{Offset: e.BodyStart, Msg: "expected other fields than those of a " + string(e.Name) + " element"}
}

func (e *Element) otherTag(want string) error {
	return &FieldError{Offset: e.Start + 3, Msg: "expected tag " + want + "; found " + quote(string(e.Name))}
}

// The tokens besides those of the classes of fields.
const (
	colonToken lexer.TokenType = iota + 1
	tagToken                   // the text before the first colon
	wordToken                  // a field that is not of the class that stands there, and a literal
	moreToken                  // all further fields, with their colons
	firstClass
)

// fieldLexer cuts the inside of an element into its fields, as its tag's layout says. It is fed one element, never a line.
type fieldLexer struct{}

// Symbols returns the names of the token types.
func (fieldLexer) Symbols() map[string]lexer.TokenType {
	s := map[string]lexer.TokenType{"EOF": lexer.EOF, "Colon": colonToken, "Tag": tagToken, "Word": wordToken, "More": moreToken}
	for c, name := range classNames {
		s[name] = firstClass + lexer.TokenType(c)
	}
	return s
}

// Lex reads all of r and cuts it.
func (l fieldLexer) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return l.LexString(name, string(b))
}

// LexString cuts the inside of an element. An empty field is a token only where it may be empty; otherwise the colons follow one
// another.
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
		if f.yields(text, at+1, l.fields[i+1:]) {
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

// lex cuts a dump, whose element's first colon is at text[at]. The spaces are no tokens.
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

func (c class) token() lexer.TokenType { return firstClass + lexer.TokenType(c) }

type tokenList []lexer.Token

// add appends text[start:end] as a token.
func (t *tokenList) add(class lexer.TokenType, text []byte, start, end int) {
	*t = append(*t, lexer.Token{Type: class, Value: string(text[start:end]), Pos: lexer.Position{Offset: start, Line: 1, Column: start + 1}})
}

// Next returns the next token; the last one is EOF and stays.
func (t *tokenList) Next() (lexer.Token, error) {
	first := (*t)[0]
	if len(*t) > 1 {
		*t = (*t)[1:]
	}
	return first, nil
}
