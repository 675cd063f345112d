package symsrc

import (
	"fmt"
	"strings"
)

// top reads a whole name.
func (p *msParser) top() *msSymbol {
	if !p.eat(".") {
		return p.symbol()
	}
	t := p.typ(msMaybeQuals)
	if p.rest != "" {
		p.fail()
	}
	return &msSymbol{kind: msVariable, typ: t, name: msName{{text: "`RTTI Type Descriptor Name'"}}}
}

// symbol reads a name, which may stand within another.
func (p *msParser) symbol() *msSymbol {
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
		return &msSymbol{kind: msUntyped, name: msName{{text: s}}}
	}
	if strings.HasPrefix(p.rest, "?_") {
		if s := p.special(); s != nil {
			return s
		}
	}
	return p.declarator()
}

// declarator reads a name and what it stands for.
func (p *msParser) declarator() *msSymbol {
	n := p.symbolName()
	s := &msSymbol{}
	last := n[len(n)-1]
	if c := p.peek(); '0' <= c && c <= '4' {
		s = p.variable()
	} else {
		s.kind, s.typ = msFunc, p.encodedFunction()
		if last.role == msConversion {
			last.target = s.typ.elem
		}
	}
	s.name = n
	if last.role == msConversion && last.target == nil {
		p.fail()
	}
	return s
}

// variable reads the access and the type of a variable.
func (p *msParser) variable() *msSymbol {
	access := [...]string{"private: static ", "protected: static ", "public: static ", "", ""}[p.next()-'0']
	t := p.typ(msNoQuals)
	if t.form == msPointer {
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
	return &msSymbol{kind: msVariable, access: access, typ: t}
}

// encodedFunction reads the class and the type of a function.
func (p *msParser) encodedFunction() *msType {
	var class msClass
	if p.eat("$$J0") {
		class = msExternC
	}
	class |= p.functionClass()
	adjust := ""
	switch {
	case class&msStaticAdjust != 0:
		adjust = fmt.Sprintf("`adjustor{%d}'", uint32(p.signed()))
	case class&msVirtualAdjustX != 0:
		a, b, c, d := p.signed(), p.signed(), p.signed(), p.signed()
		adjust = fmt.Sprintf("`vtordispex{%d, %d, %d, %d}'", int32(a), int32(b), int32(c), uint32(d))
	case class&msVirtualAdjust != 0:
		a, b := p.signed(), p.signed()
		adjust = fmt.Sprintf("`vtordisp{%d, %d}'", int32(a), uint32(b))
	}
	t := &msType{form: msFunction, sig: &msSignature{}}
	if class&msBare == 0 {
		t = p.function(class&(msGlobal|msStatic) == 0)
	}
	t.sig.class, t.sig.adjust, t.sig.thunk = class, adjust, adjust != ""
	return t
}

// functionClass reads the class of a function: three times eight letters for the access, in pairs for near and far.
func (p *msParser) functionClass() msClass {
	c := p.next()
	switch {
	case c == '9':
		return msExternC | msBare
	case 'A' <= c && c <= 'X':
		class := [...]msClass{msPrivate, msProtected, msPublic}[(c-'A')/8]
		class |= [...]msClass{0, msStatic, msVirtual, msStaticAdjust}[(c-'A')%8/2]
		if class&msStaticAdjust != 0 && class&msPrivate == 0 { // private thunks are not shown as virtual
			class |= msVirtual
		}
		return class
	case c == 'Y' || c == 'Z':
		return msGlobal
	case c == '$':
		class := msVirtual | msVirtualAdjust
		if p.eat("R") {
			class |= msVirtualAdjustX
		}
		if c = p.next(); '0' <= c && c <= '5' {
			return class | [...]msClass{msPrivate, msProtected, msPublic}[(c-'0')/2]
		}
	}
	p.fail()
	return 0
}
