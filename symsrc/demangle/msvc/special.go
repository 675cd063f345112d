package msvc

import "fmt"

// special reads what the compiler makes besides functions and variables, after the first ? of its name. It returns nil where
// the name is of another kind.
func (p *parser) special() *symbol {
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
		return &symbol{}
	case p.eat("?_B"):
		return p.guard("`local static guard'")
	case p.eat("?__J"):
		return p.guard("`local static thread guard'")
	case p.eat("?_C"):
		return p.literal()
	case p.eat("?_R0"):
		t := p.typ(maybeQuals)
		p.need("@8")
		if p.rest != "" {
			p.fail()
		}
		return &symbol{kind: variable, typ: t, name: nameNode{{text: "`RTTI Type Descriptor'"}}}
	case p.eat("?_R1"):
		a, b, c, d := p.unsigned(), p.signed(), p.unsigned(), p.unsigned()
		id := &ident{text: fmt.Sprintf("`RTTI Base Class Descriptor at (%d, %d, %d, %d)'", uint32(a), int32(b), uint32(c), uint32(d))}
		s := &symbol{kind: untyped, name: p.scopes(id)}
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
func (p *parser) table(text string) *symbol {
	s := &symbol{kind: tableSymbol, name: p.scopes(&ident{text: text})}
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
func (p *parser) vcall() *symbol {
	id := &ident{}
	s := &symbol{kind: functionSymbol, name: p.scopes(id)}
	p.need("$B")
	id.text = fmt.Sprintf("`vcall'{%d, {flat}}", p.unsigned())
	p.need("A")
	s.typ = &typeNode{form: function, sig: &signature{class: bare, thunk: true, convention: conventions[p.next()]}}
	return s
}

// guard reads the guard of variables that are initialized when a function first comes by.
func (p *parser) guard(text string) *symbol {
	id := &ident{text: text}
	s := &symbol{kind: untyped, name: p.scopes(id)}
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
func (p *parser) untyped(text string) *symbol {
	s := &symbol{kind: untyped, name: p.scopes(&ident{text: text})}
	p.need("8")
	return s
}

// stub reads a function that initializes or ends a variable, which is given whole after a second ?, or by its name.
func (p *parser) stub(text string) *symbol {
	id := &ident{role: stub, text: text}
	member := p.eat("?")
	s := p.declarator()
	if s.kind == variable {
		id.of = s
		p.need("@")
		if member {
			p.need("@")
		}
		return &symbol{kind: functionSymbol, typ: p.encodedFunction(), name: nameNode{id}}
	}
	if member {
		p.fail()
	}
	id.name = s.name
	s.name = nameNode{id}
	return s
}
