// Package msvc demangles the names of Microsoft's C++ compiler. A name is parsed into a graph of nodes (node.go; parsed in
// msvc.go, name.go, type.go, string.go), which is printed from the outside in (write.go).
package msvc

import (
	"fmt"
	"strings"
)

// Demangle returns the readable form of a name of Microsoft's compiler (`?f@@YAHH@Z`), or of a type as named in a type
// descriptor (`.?AVfoo@@`), as llvm prints it. There is no complete specification of the scheme; the reference is clang's
// mangler, which produced the names in the tests. With brief set, the access specifier, the calling convention and the return
// type of the function are omitted, as in llvm's frames. Text after a complete name is ignored. Demangle returns false for
// malformed names. llvm demangles some of these, because its parser loses an error at the next pointer.
func Demangle(name string, brief bool) (s string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	p := parser{rest: name, budget: maxWritten}
	sym := p.top()
	if p.bad {
		return "", false
	}
	w := writer{budget: &p.budget}
	var omit omissions
	if brief {
		omit = onlyParams | noConvention
	}
	w.symbol(sym, omit)
	ok = p.budget > 0 && len(w.out) > 0 && len(w.out) <= maxOutput
	if !ok {
		return "", false
	}
	return string(w.out), true
}

const (
	maxName   = 4096    // length of a name, in bytes
	maxOutput = 1 << 16 // length of the readable form, in bytes
)

// maxWritten bounds the bytes written for one name, including the texts stored for back-references. Back-references can expand
// exponentially, and a nested name is written once per level.
const maxWritten = 4 << 20

// parser parses a name.
type parser struct {
	rest string // the unread part
	// bad is set after an error; rest is empty then.
	bad  bool
	refs backRefs
	// budget is the number of bytes that may still be written.
	budget int
}

// backRefs holds the targets of the back-references 0 to 9: of those in place of a name and those in place of a parameter type.
type backRefs struct {
	names  []string
	params []*typeNode
}

// fail sets bad and skips the rest of the name, so that every loop ends.
func (p *parser) fail() {
	p.bad, p.rest = true, ""
}

// consume consumes prefix if it is next and reports whether it was.
func (p *parser) consume(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// expect consumes prefix. It fails if prefix is not next.
func (p *parser) expect(prefix string) {
	if !p.consume(prefix) {
		p.fail()
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// next consumes and returns the next byte. It fails at the end.
func (p *parser) next() byte {
	if p.rest == "" {
		p.fail()
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// atDigit reports whether a digit, which is a back-reference or a number, is next.
func (p *parser) atDigit() bool {
	c := p.peek()
	return '0' <= c && c <= '9'
}

// number reads a number: a digit 0 to 9 for 1 to 10, or hexadecimal digits A to P up to an @. A leading ? is the minus sign.
func (p *parser) number() (n uint64, negative bool) {
	negative = p.consume("?")
	if p.atDigit() {
		return uint64(p.next()-'0') + 1, negative
	}
	for {
		switch c := p.next(); {
		case c == '@', p.bad:
			return n, negative
		case c < 'A' || c > 'P':
			p.fail()
		default:
			n = n<<4 + uint64(c-'A')
		}
	}
}

// unsigned reads a number that must not be negative.
func (p *parser) unsigned() uint64 {
	n, negative := p.number()
	if negative {
		p.fail()
	}
	return n
}

// signed reads a signed 64-bit number.
func (p *parser) signed() int64 {
	n, negative := p.number()
	if n > 1<<63-1 {
		p.fail()
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// memorize adds s to the names that back-references refer to. There are at most ten, without duplicates.
func (p *parser) memorize(s string) {
	if len(p.refs.names) == 10 {
		return
	}
	for _, known := range p.refs.names {
		if known == s {
			return
		}
	}
	p.refs.names = append(p.refs.names, s)
}

// memorizeIdent memorizes the readable form of an identifier.
func (p *parser) memorizeIdent(id *ident) {
	w := writer{budget: &p.budget}
	if w.ident(id, 0); p.budget <= 0 {
		p.fail()
	}
	p.memorize(string(w.out))
}

// top reads a complete name: a symbol, or the name of a type descriptor.
func (p *parser) top() *symbol {
	if !p.consume(".") {
		return p.symbol()
	}
	t := p.typ(maybeQuals)
	if p.rest != "" {
		p.fail()
	}
	return &symbol{kind: variable, typ: t, name: nameNode{{text: "`RTTI Type Descriptor Name'"}}}
}

// symbol reads a symbol, which may be nested in another one.
func (p *parser) symbol() *symbol {
	whole := p.rest
	p.expect("?")
	if p.consume("?@") { // an MD5 hash in place of a long name, which is printed as it is
		_, rest, ok := strings.Cut(p.rest, "@")
		if !ok {
			p.fail()
		}
		p.rest = rest
		p.consume("??_R4@")
		s := whole[:len(whole)-len(p.rest)]
		return &symbol{kind: untyped, name: nameNode{{text: s}}}
	}
	if strings.HasPrefix(p.rest, "?_") {
		if s := p.special(); s != nil {
			return s
		}
	}
	return p.declarator()
}

// declarator reads a name and the type of the variable or function.
func (p *parser) declarator() *symbol {
	n := p.symbolName()
	s := &symbol{}
	last := n[len(n)-1]
	if c := p.peek(); '0' <= c && c <= '4' {
		s = p.variable()
	} else {
		s.kind, s.typ = functionSymbol, p.encodedFunction()
		if last.role == conversion {
			last.target = s.typ.elem
		}
	}
	s.name = n
	if last.role == conversion && last.target == nil {
		p.fail()
	}
	return s
}

// variable reads the access and the type of a variable.
func (p *parser) variable() *symbol {
	access := [...]string{"private: static ", "protected: static ", "public: static ", "", ""}[p.next()-'0']
	t := p.typ(noQuals)
	if t.form == pointerTo {
		t.quals |= p.extended()
		q, _ := p.quals()
		if t.owner != nil {
			p.typeName() // the class again
		}
		if !p.bad {
			t.elem.quals |= q
		}
	} else {
		t.quals, _ = p.quals()
	}
	return &symbol{kind: variable, access: access, typ: t}
}

// encodedFunction reads the function class, the adjustments of a thunk, and the type of a function.
func (p *parser) encodedFunction() *typeNode {
	var class funcClass
	if p.consume("$$J0") {
		class = externC
	}
	class |= p.functionClass()
	adjust := ""
	switch {
	case class&staticAdjust != 0:
		adjust = fmt.Sprintf("`adjustor{%d}'", uint32(p.signed()))
	case class&virtualAdjustX != 0:
		a, b, c, d := p.signed(), p.signed(), p.signed(), p.signed()
		adjust = fmt.Sprintf("`vtordispex{%d, %d, %d, %d}'", int32(a), int32(b), int32(c), uint32(d))
	case class&virtualAdjust != 0:
		a, b := p.signed(), p.signed()
		adjust = fmt.Sprintf("`vtordisp{%d, %d}'", int32(a), uint32(b))
	}
	t := &typeNode{form: function, sig: &signature{}}
	if class&noParamList == 0 {
		t = p.function(class&(global|staticMember) == 0)
	}
	t.sig.class, t.sig.adjust, t.sig.thunk = class, adjust, adjust != ""
	return t
}

// functionClass reads the class of a function: eight letters for each access specifier, in pairs for near and far functions.
func (p *parser) functionClass() funcClass {
	c := p.next()
	switch {
	case c == '9':
		return externC | noParamList
	case 'A' <= c && c <= 'X':
		class := [...]funcClass{private, protected, public}[(c-'A')/8]
		class |= [...]funcClass{0, staticMember, virtual, staticAdjust}[(c-'A')%8/2]
		if class&staticAdjust != 0 && class&private == 0 { // llvm does not print virtual for private thunks
			class |= virtual
		}
		return class
	case c == 'Y' || c == 'Z':
		return global
	case c == '$':
		class := virtual | virtualAdjust
		if p.consume("R") {
			class |= virtualAdjustX
		}
		if c = p.next(); '0' <= c && c <= '5' {
			return class | [...]funcClass{private, protected, public}[(c-'0')/2]
		}
	}
	p.fail()
	return 0
}

// types are the builtin types with a code of one letter.
var types = [256]string{
	'X': "void", 'D': "char", 'C': "signed char", 'E': "unsigned char", 'F': "short", 'G': "unsigned short", 'H': "int",
	'I': "unsigned int", 'J': "long", 'K': "unsigned long", 'M': "float", 'N': "double", 'O': "long double",
}

// longTypes are the builtin types with a code of an underscore and a letter.
var longTypes = [256]string{
	'N': "bool", 'J': "__int64", 'K': "unsigned __int64", 'W': "wchar_t", 'Q': "char8_t", 'S': "char16_t", 'U': "char32_t",
	'P': "auto", 'T': "decltype(auto)",
}

// conventions are the calling conventions. The second letter of a pair is that of an exported function, which is obsolete.
var conventions = [256]string{
	'A': "__cdecl", 'B': "__cdecl", 'C': "__pascal", 'D': "__pascal", 'E': "__thiscall", 'F': "__thiscall", 'G': "__stdcall",
	'H': "__stdcall", 'I': "__fastcall", 'J': "__fastcall", 'M': "__clrcall", 'N': "__clrcall", 'O': "__eabi", 'P': "__eabi",
	'Q': "__vectorcall", 'S': "__attribute__((__swiftcall__)) ", 'W': "__attribute__((__swiftasynccall__)) ",
}

// operators are the functions with a code of one letter.
var operators = [256]string{
	'2': "operator new", '3': "operator delete", '4': "operator=", '5': "operator>>", '6': "operator<<", '7': "operator!",
	'8': "operator==", '9': "operator!=", 'A': "operator[]", 'C': "operator->", 'D': "operator*", 'E': "operator++",
	'F': "operator--", 'G': "operator-", 'H': "operator+", 'I': "operator&", 'J': "operator->*", 'K': "operator/",
	'L': "operator%", 'M': "operator<", 'N': "operator<=", 'O': "operator>", 'P': "operator>=", 'Q': "operator,",
	'R': "operator()", 'S': "operator~", 'T': "operator^", 'U': "operator|", 'V': "operator&&", 'W': "operator||",
	'X': "operator*=", 'Y': "operator+=", 'Z': "operator-=",
}

// operators1 are the functions with an underscore before the letter.
var operators1 = [256]string{
	'0': "operator/=", '1': "operator%=", '2': "operator>>=", '3': "operator<<=", '4': "operator&=", '5': "operator|=",
	'6': "operator^=", 'D': "`vbase dtor'", 'E': "`vector deleting dtor'", 'F': "`default ctor closure'",
	'G': "`scalar deleting dtor'", 'H': "`vector ctor iterator'", 'I': "`vector dtor iterator'",
	'J': "`vector vbase ctor iterator'", 'K': "`virtual displacement map'", 'L': "`eh vector ctor iterator'",
	'M': "`eh vector dtor iterator'", 'N': "`eh vector vbase ctor iterator'", 'O': "`copy ctor closure'",
	'T': "`local vftable ctor closure'", 'U': "operator new[]", 'V': "operator delete[]",
}

// operators2 are the functions with two underscores before the letter.
var operators2 = [256]string{
	'A': "`managed vector ctor iterator'", 'B': "`managed vector dtor iterator'", 'C': "`EH vector copy ctor iterator'",
	'D': "`EH vector vbase copy ctor iterator'", 'G': "`vector copy ctor iterator'",
	'H': "`vector vbase copy constructor iterator'", 'I': "`managed vector vbase copy constructor iterator'",
	'L': "operator co_await", 'M': "operator<=>",
}
