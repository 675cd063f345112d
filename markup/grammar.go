package markup

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"qss-filter/filter/scan"
)

// Grammar states the grammar of an element, without its braces, in EBNF. The lexical classes that it names are those of
// fieldClasses.
func Grammar() string { return elementParser().String() }

// An element's production. The names of the types below are those of the productions that Grammar prints, and those that
// an error names as expected.
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
		Tag string `parser:"@'reset':Tag (':' ~':'?)*"`
	}
	module struct {
		ID      moduleID `parser:"'module':Tag ':' @@ ':'"`
		Name    string   `parser:"@((?! ':' Type) (':' | ~':'))* ':' 'elf':Type"`
		BuildID buildID  `parser:"':' @@ (':' ~':'?)*"`
	}
	mmap struct {
		Start    address  `parser:"'mmap':Tag ':' @@"`
		Size     size     `parser:"':' @@"`
		ModuleID moduleID `parser:"':' 'load' ':' @@"`
		Mode     mode     `parser:"':' @@"`
		Rel      address  `parser:"':' @@ (':' ~':'?)*"`
	}
	bt struct {
		Num     frameNumber `parser:"'bt':Tag ':' @@"`
		Addr    address     `parser:"':' @@"`
		Type    *pcType     `parser:"(':' (@@ (':'"`
		Message string      `parser:"@(':' | ~':')*)? | @(':' | ~':')+)?)?"`
	}
	pc struct {
		Addr address `parser:"'pc':Tag ':' @@"`
		Type *pcType `parser:"(':' @@ (':' ~':'?)*)?"`
	}
	data struct {
		Addr address `parser:"'data':Tag ':' @@ (':' ~':'?)*"`
	}
	symbol struct {
		Name string `parser:"'symbol':Tag ':' @~':'? (':' ~':'?)*"`
	}
	hexdict struct {
		Pairs []pair `parser:"'hexdict':Tag ':' @@ (':' @@)*"`
	}
	dumpfile struct {
		Kind text   `parser:"'dumpfile':Tag ':' @@"`
		Name string `parser:"':' @(':' | ~':')+"`
	}
	pair struct {
		Key   string  `parser:"@~':'? ':'"`
		Value address `parser:"@@"`
	}
	text struct {
		Value string `parser:"@~':'"`
	}
	pcType struct {
		Value string `parser:"@('ra' | 'pc')"`
	}
	moduleID struct {
		Value integer `parser:"@(Zeros | Digits | Hex | Binary | OtherInteger)"`
	}
	size struct {
		Value integer `parser:"@(Zeros | Digits | Hex | Binary | OtherInteger)"`
	}
	frameNumber struct {
		Value decimal `parser:"@(Zeros | Digits)"`
	}
	address struct {
		Value pointer `parser:"@(Zeros | Hex)"`
	}
	buildID struct {
		Value hexBytes `parser:"@(Zeros | Digits | Binary | HexDigits)"`
	}
	mode struct {
		Value lower `parser:"@Mode"`
	}
)

// elementParser builds the parser when the first context element, or the first malformed one, comes by.
var elementParser = sync.OnceValue(func() *participle.Parser[element] {
	return participle.MustBuild[element](participle.Lexer(fieldLexer{}))
})

// maxInside bounds the text that is parsed, in bytes: paths end at 4096, and the parser's time grows with the square.
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

// explain tells what is wrong with an element that the hand-written readers refused.
func (e *Element) explain() error {
	if _, err := e.parse(); err != nil {
		return err
	}
	return &FieldError{Offset: e.BodyStart, Msg: "expected other fields than those of a " + string(e.Name) + " element"}
}

func (e *Element) otherTag(want string) error {
	return &FieldError{Offset: e.Start + 3, Msg: "expected tag " + want + "; found " + quote(string(e.Name))}
}

// The lexical classes of the grammar. A field is one token, of the first class that matches the whole of it; an empty
// field is no token, so that two colons follow one another.
const (
	colonToken lexer.TokenType = iota + 1
	tagToken                   // the text before the first colon
	typeToken                  // a module's type: the last "elf", else the third field
	firstClass
)

// fieldClass is a lexical class of whole fields.
type fieldClass struct {
	name    string
	pattern *regexp.Regexp
}

// fieldClasses are disjoint by their order: 10 is Digits, though it would do as HexDigits. They are built with the parser:
// most streams never need them.
var fieldClasses = sync.OnceValue(func() []fieldClass {
	return []fieldClass{
		{"Zeros", regexp.MustCompile(`^0+$`)},
		{"Digits", regexp.MustCompile(`^[0-9]+$`)},
		{"Hex", regexp.MustCompile(`^0x[0-9a-fA-F]+$`)},
		{"Binary", regexp.MustCompile(`^0[bB][01]+$`)},
		{"OtherInteger", regexp.MustCompile(`^(0X[0-9a-fA-F]+|0o[0-7]+)$`)},
		{"HexDigits", regexp.MustCompile(`^[0-9a-fA-F]+$`)},
		{"Mode", regexp.MustCompile(`^([rR][wW]?[xX]?|[wW][xX]?|[xX])$`)},
		{"Word", regexp.MustCompile(`(?s)^.*$`)},
	}
})

// fieldLexer cuts the inside of an element into its fields. It is fed one element, never a line.
type fieldLexer struct{}

// Symbols names the token types.
func (fieldLexer) Symbols() map[string]lexer.TokenType {
	s := map[string]lexer.TokenType{"EOF": lexer.EOF, "Colon": colonToken, "Tag": tagToken, "Type": typeToken}
	for i, c := range fieldClasses() {
		s[c.name] = firstClass + lexer.TokenType(i)
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

// LexString cuts the inside of an element.
func (fieldLexer) LexString(_ string, inside string) (lexer.Lexer, error) {
	fields := strings.Split(inside, ":")
	kind := -1
	switch {
	case fields[0] == "module":
		kind = typeField(fields)
	case fields[0] == "symbol" && len(fields) > 1:
		name, body := 1, strings.TrimPrefix(inside, "symbol:")
		for end := symbolEnd([]byte(body)); len(fields[name]) < end; {
			fields[name] += ":" + fields[name+1]
			fields = slices.Delete(fields, name+1, name+2)
		}
	}
	var tokens tokenList
	pos := lexer.Position{Line: 1, Column: 1}
	add := func(t lexer.TokenType, value string) {
		tokens = append(tokens, lexer.Token{Type: t, Value: value, Pos: pos})
		pos.Offset += len(value)
		pos.Column = pos.Offset + 1
	}
	for i, f := range fields {
		if i > 0 {
			add(colonToken, ":")
		}
		switch {
		case i == 0:
			add(tagToken, f)
		case i == kind && f != "":
			add(typeToken, f)
		case f != "":
			add(classOf(f), f)
		}
	}
	add(lexer.EOF, "")
	return &tokens, nil
}

// typeField returns the index of the field that is a module's type. Before it are at least the tag, an ID and a name;
// behind it is a build ID.
func typeField(fields []string) int {
	const id, name, least = 1, 2, 3
	last := least
	for i := len(fields) - 2; i >= least; i-- {
		if fields[i] == "elf" {
			if scan.IsHexField([]byte(fields[i+1])) {
				return i
			}
			last = max(last, i)
		}
	}
	return last
}

func classOf(field string) lexer.TokenType {
	i := slices.IndexFunc(fieldClasses(), func(c fieldClass) bool { return c.pattern.MatchString(field) })
	return firstClass + lexer.TokenType(i)
}

type tokenList []lexer.Token

// Next returns the next token; the last one is EOF and stays.
func (t *tokenList) Next() (lexer.Token, error) {
	first := (*t)[0]
	if len(*t) > 1 {
		*t = (*t)[1:]
	}
	return first, nil
}
