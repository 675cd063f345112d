// Package msvc demangles the names of Microsoft's C++ compiler. A name becomes a graph of nodes (node.go; read by msvc.go,
// name.go, type.go, string.go), which is written from the outside in (write.go).
package msvc

import (
	"fmt"
	"strings"
)

// Demangle returns the readable form of a name of Microsoft's compiler (`?f@@YAHH@Z`) or of the type in its type
// descriptors (`.?AVfoo@@`), as llvm writes it. The scheme is not published whole; clang's own mangling, from which the tests
// take their names, is the reference. With brief set, access, calling convention and result of the function are left out,
// which is llvm's way for frames. What follows a name that is complete is passed over. Malformed names are refused, some of
// which llvm reads: it forgets an error at the next pointer.
func Demangle(name string, brief bool) (s string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	p := parser{rest: name, left: maxWritten}
	sym := p.top()
	if p.bad {
		return "", false
	}
	w := writer{left: &p.left}
	var how omissions
	if brief {
		how = onlyParams | noConvention
	}
	w.symbol(sym, how)
	ok = p.left > 0 && len(w.out) > 0 && len(w.out) <= maxOutput
	if !ok {
		return "", false
	}
	return string(w.out), true
}

const (
	maxName   = 4096    // bytes that are read
	maxOutput = 1 << 16 // bytes of the readable form
)

// maxWritten bounds the bytes that are written for one name, the texts for references included. References make names of
// exponential length, and names that stand in each other are written once per level.
const maxWritten = 4 << 20

// parser reads a name from the front.
type parser struct {
	rest string
	// bad is set for good once something is not understood; rest is empty then.
	bad  bool
	refs backRefs
	// left is how many bytes may yet be written.
	left int
}

// backRefs holds what the digits 0 to 9 refer to: names where a name stands, types where a parameter stands.
type backRefs struct {
	names  []string
	params []*typeNode
}

func (p *parser) fail() {
	p.bad, p.rest = true, ""
}

// eat passes over prefix, if it is next.
func (p *parser) eat(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// need passes over prefix, which must be next.
func (p *parser) need(prefix string) {
	if !p.eat(prefix) {
		p.fail()
	}
}

// peek returns the byte at hand, 0 at the end.
func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// next takes a byte. The end of the name is an error.
func (p *parser) next() byte {
	if p.rest == "" {
		p.fail()
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// digit reports whether a reference is next.
func (p *parser) digit() bool {
	c := p.peek()
	return '0' <= c && c <= '9'
}

// number reads a number: one digit is 1 to 10; others are hexadecimal with A to P for digits, up to an @. A ? makes it
// negative.
func (p *parser) number() (n uint64, negative bool) {
	negative = p.eat("?")
	if p.digit() {
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

// signed reads a number of 64 bits with its sign.
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

// remember makes s a name to refer to; ten have room, and none twice.
func (p *parser) remember(s string) {
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

// rememberIdent makes the text of an identifier a name to refer to.
func (p *parser) rememberIdent(id *ident) {
	w := writer{left: &p.left}
	if w.ident(id, 0); p.left <= 0 {
		p.fail()
	}
	p.remember(string(w.out))
}

// top reads a whole name.
func (p *parser) top() *symbol {
	if !p.eat(".") {
		return p.symbol()
	}
	t := p.typ(maybeQuals)
	if p.rest != "" {
		p.fail()
	}
	return &symbol{kind: variable, typ: t, name: nameNode{{text: "`RTTI Type Descriptor Name'"}}}
}

// symbol reads a name, which may stand within another.
func (p *parser) symbol() *symbol {
	whole := p.rest
	p.need("?")
	if p.eat("?@") { // a hash, which stays as it is
		_, rest, ok := strings.Cut(p.rest, "@")
		if !ok {
			p.fail()
		}
		p.rest = rest
		p.eat("??_R4@")
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

// declarator reads a name and what it stands for.
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

// encodedFunction reads the class and the type of a function.
func (p *parser) encodedFunction() *typeNode {
	var class membership
	if p.eat("$$J0") {
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
	if class&bare == 0 {
		t = p.function(class&(global|staticMember) == 0)
	}
	t.sig.class, t.sig.adjust, t.sig.thunk = class, adjust, adjust != ""
	return t
}

// functionClass reads the class of a function: three times eight letters for the access, in pairs for near and far.
func (p *parser) functionClass() membership {
	c := p.next()
	switch {
	case c == '9':
		return externC | bare
	case 'A' <= c && c <= 'X':
		class := [...]membership{private, protected, public}[(c-'A')/8]
		class |= [...]membership{0, staticMember, virtual, staticAdjust}[(c-'A')%8/2]
		if class&staticAdjust != 0 && class&private == 0 { // private thunks are not shown as virtual
			class |= virtual
		}
		return class
	case c == 'Y' || c == 'Z':
		return global
	case c == '$':
		class := virtual | virtualAdjust
		if p.eat("R") {
			class |= virtualAdjustX
		}
		if c = p.next(); '0' <= c && c <= '5' {
			return class | [...]membership{private, protected, public}[(c-'0')/2]
		}
	}
	p.fail()
	return 0
}

// types are the types of one letter.
var types = [256]string{
	'X': "void", 'D': "char", 'C': "signed char", 'E': "unsigned char", 'F': "short", 'G': "unsigned short", 'H': "int",
	'I': "unsigned int", 'J': "long", 'K': "unsigned long", 'M': "float", 'N': "double", 'O': "long double",
}

// longTypes are the types of an underscore and a letter.
var longTypes = [256]string{
	'N': "bool", 'J': "__int64", 'K': "unsigned __int64", 'W': "wchar_t", 'Q': "char8_t", 'S': "char16_t", 'U': "char32_t",
	'P': "auto", 'T': "decltype(auto)",
}

// conventions are the calling conventions. Those in pairs differ in a word that is obsolete.
var conventions = [256]string{
	'A': "__cdecl", 'B': "__cdecl", 'C': "__pascal", 'D': "__pascal", 'E': "__thiscall", 'F': "__thiscall", 'G': "__stdcall",
	'H': "__stdcall", 'I': "__fastcall", 'J': "__fastcall", 'M': "__clrcall", 'N': "__clrcall", 'O': "__eabi", 'P': "__eabi",
	'Q': "__vectorcall", 'S': "__attribute__((__swiftcall__)) ", 'W': "__attribute__((__swiftasynccall__)) ",
}

// operators are the functions with codes of one letter.
var operators = [256]string{
	'2': "operator new", '3': "operator delete", '4': "operator=", '5': "operator>>", '6': "operator<<", '7': "operator!",
	'8': "operator==", '9': "operator!=", 'A': "operator[]", 'C': "operator->", 'D': "operator*", 'E': "operator++",
	'F': "operator--", 'G': "operator-", 'H': "operator+", 'I': "operator&", 'J': "operator->*", 'K': "operator/",
	'L': "operator%", 'M': "operator<", 'N': "operator<=", 'O': "operator>", 'P': "operator>=", 'Q': "operator,",
	'R': "operator()", 'S': "operator~", 'T': "operator^", 'U': "operator|", 'V': "operator&&", 'W': "operator||",
	'X': "operator*=", 'Y': "operator+=", 'Z': "operator-=",
}

// operators1 are those with an underscore before the letter.
var operators1 = [256]string{
	'0': "operator/=", '1': "operator%=", '2': "operator>>=", '3': "operator<<=", '4': "operator&=", '5': "operator|=",
	'6': "operator^=", 'D': "`vbase dtor'", 'E': "`vector deleting dtor'", 'F': "`default ctor closure'",
	'G': "`scalar deleting dtor'", 'H': "`vector ctor iterator'", 'I': "`vector dtor iterator'",
	'J': "`vector vbase ctor iterator'", 'K': "`virtual displacement map'", 'L': "`eh vector ctor iterator'",
	'M': "`eh vector dtor iterator'", 'N': "`eh vector vbase ctor iterator'", 'O': "`copy ctor closure'",
	'T': "`local vftable ctor closure'", 'U': "operator new[]", 'V': "operator delete[]",
}

// operators2 are those with two underscores.
var operators2 = [256]string{
	'A': "`managed vector ctor iterator'", 'B': "`managed vector dtor iterator'", 'C': "`EH vector copy ctor iterator'",
	'D': "`EH vector vbase copy ctor iterator'", 'G': "`vector copy ctor iterator'",
	'H': "`vector vbase copy constructor iterator'", 'I': "`managed vector vbase copy constructor iterator'",
	'L': "operator co_await", 'M': "operator<=>",
}
