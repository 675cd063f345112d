package msvc

import (
	"fmt"
	"strings"
)

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
