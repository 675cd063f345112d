package symsrc

import "fmt"

// special reads what the compiler makes besides functions and variables, after the first ? of its name. It gives nil where
// the name is of another kind.
func (p *msParser) special() *msSymbol {
	switch {
	case p.eat("?_7"):
		return p.table("`vftable'")
	case p.eat("?_8"):
		return p.table("`vbtable'")
	case p.eat("?_S"):
		return p.table("`local vftable'")
	case p.eat("?_R4"):
		return p.table("`RTTI Complete Object Locator'")
	case p.eat("?_9"):
		return p.vcall()
	case p.eat("?_A"), p.eat("?_P"):
		p.fail()
		return &msSymbol{}
	case p.eat("?_B"):
		return p.guard("`local static guard'")
	case p.eat("?__J"):
		return p.guard("`local static thread guard'")
	case p.eat("?_C"):
		return p.literal()
	case p.eat("?_R0"):
		t := p.typ(msMaybeQuals)
		p.need("@8")
		if p.rest != "" {
			p.fail()
		}
		return &msSymbol{kind: msVariable, typ: t, name: msName{{text: "`RTTI Type Descriptor'"}}}
	case p.eat("?_R1"):
		a, b, c, d := p.unsigned(), p.signed(), p.unsigned(), p.unsigned()
		id := &msIdent{text: fmt.Sprintf("`RTTI Base Class Descriptor at (%d, %d, %d, %d)'", uint32(a), int32(b), uint32(c), uint32(d))}
		s := &msSymbol{kind: msUntyped, name: p.scopes(id)}
		p.eat("8")
		return s
	case p.eat("?_R2"):
		return p.untyped("`RTTI Base Class Array'")
	case p.eat("?_R3"):
		return p.untyped("`RTTI Class Hierarchy Descriptor'")
	case p.eat("?__E"):
		return p.stub("`dynamic initializer for ")
	case p.eat("?__F"):
		return p.stub("`dynamic atexit destructor for ")
	}
	return nil
}

// table reads a table of a class, and the bases it is for.
func (p *msParser) table(text string) *msSymbol {
	s := &msSymbol{kind: msTable, name: p.scopes(&msIdent{text: text})}
	if c := p.next(); c != '6' && c != '7' {
		p.fail()
	}
	s.quals, _ = p.quals()
	for !p.bad && !p.eat("@") {
		s.targets = append(s.targets, p.typeName())
	}
	return s
}

// vcall reads a thunk that calls what stands at an offset of a vftable.
func (p *msParser) vcall() *msSymbol {
	id := &msIdent{}
	s := &msSymbol{kind: msFunc, name: p.scopes(id)}
	p.need("$B")
	id.text = fmt.Sprintf("`vcall'{%d, {flat}}", p.unsigned())
	p.need("A")
	s.typ = &msType{form: msFunction, sig: &msSignature{class: msBare, thunk: true, convention: msConventions[p.next()]}}
	return s
}

// guard reads the guard of variables that are initialized when a function first comes by.
func (p *msParser) guard(text string) *msSymbol {
	id := &msIdent{text: text}
	s := &msSymbol{kind: msUntyped, name: p.scopes(id)}
	if !p.eat("4IA") {
		p.need("5")
	}
	if p.rest != "" {
		if n := p.unsigned(); n > 0 {
			id.text += fmt.Sprintf("{%d}", uint32(n))
		}
	}
	return s
}

// untyped reads the class of a table for run-time type information.
func (p *msParser) untyped(text string) *msSymbol {
	s := &msSymbol{kind: msUntyped, name: p.scopes(&msIdent{text: text})}
	p.need("8")
	return s
}

// stub reads a function that initializes or ends a variable, which is given whole after a second ?, or by its name.
func (p *msParser) stub(text string) *msSymbol {
	id := &msIdent{role: msStub, text: text}
	member := p.eat("?")
	s := p.declarator()
	if s.kind == msVariable {
		id.of = s
		p.need("@")
		if member {
			p.need("@")
		}
		return &msSymbol{kind: msFunc, typ: p.encodedFunction(), name: msName{id}}
	}
	if member {
		p.fail()
	}
	id.name = s.name
	s.name = msName{id}
	return s
}
