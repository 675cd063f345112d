package msvc

import (
	"fmt"
	"strconv"
	"strings"
)

// typeName reads the qualified name of a type.
func (p *parser) typeName() nameNode {
	return p.scopes(p.typeIdent())
}

// typeIdent reads the name of a type without its scopes.
func (p *parser) typeIdent() *ident {
	switch {
	case p.digit():
		return p.reference()
	case p.eat("?$"):
		return p.template(true)
	}
	return p.simple(true)
}

// symbolName reads the qualified name of a function or a variable.
func (p *parser) symbolName() nameNode {
	n := p.scopes(p.symbolIdent())
	if id := n[len(n)-1]; id.role == structor {
		if len(n) < 2 {
			p.fail()
			return n
		}
		id.class = n[len(n)-2]
	}
	return n
}

// symbolIdent reads the name of a function or a variable without its scopes.
func (p *parser) symbolIdent() *ident {
	switch {
	case p.digit():
		return p.reference()
	case p.eat("?$"):
		return p.template(false)
	case p.eat("?"):
		return p.operator()
	}
	return p.simple(true)
}

// scopes reads the scopes of id up to an @, the innermost first.
func (p *parser) scopes(id *ident) nameNode {
	n := nameNode{id}
	for !p.bad && !p.eat("@") {
		n = append(n, p.scope())
	}
	for i, j := 0, len(n)-1; i < j; i, j = i+1, j-1 {
		n[i], n[j] = n[j], n[i]
	}
	return n
}

func (p *parser) scope() *ident {
	switch {
	case p.digit():
		return p.reference()
	case p.eat("?$"):
		return p.template(true)
	case p.eat("?A"): // and a key, which is what later references give
		key, rest, ok := strings.Cut(p.rest, "@")
		if !ok {
			p.fail()
			return &ident{}
		}
		p.rest = rest
		p.remember(key)
		return &ident{text: "`anonymous namespace'"}
	case p.atLocal():
		return p.local()
	}
	return p.simple(true)
}

// atLocal reports whether a scope within a function is next: a ?, the number of the scope, and the ? of the function's name.
func (p *parser) atLocal() bool {
	if p.peek() != '?' {
		return false
	}
	n, _, ok := strings.Cut(p.rest[1:], "?")
	if !ok || n == "" {
		return false
	}
	if len(n) == 1 {
		return n == "@" || '0' <= n[0] && n[0] <= '9'
	}
	digits, ok := strings.CutSuffix(n, "@")
	return ok && digits[0] > 'A' && strings.Trim(digits, "ABCDEFGHIJKLMNOP") == ""
}

// local reads a scope within a function.
func (p *parser) local() *ident {
	p.next()
	n, _ := p.number()
	p.need("?")
	sym := p.symbol()
	if p.bad {
		return &ident{}
	}
	w := writer{left: &p.left}
	w.add("`")
	w.symbol(sym, 0)
	w.add("'::`" + strconv.FormatUint(n, 10) + "'")
	return &ident{text: string(w.out)}
}

// reference reads a digit that stands for a name.
func (p *parser) reference() *ident {
	n := int(p.next() - '0')
	if n >= len(p.refs.names) {
		p.fail()
		return &ident{}
	}
	return &ident{text: p.refs.names[n]}
}

// simple reads a name up to its @.
func (p *parser) simple(remember bool) *ident {
	s, rest, ok := strings.Cut(p.rest, "@")
	if !ok || s == "" {
		p.fail()
		return &ident{}
	}
	p.rest = rest
	if remember {
		p.remember(s)
	}
	return &ident{text: s}
}

// template reads a template's name and its arguments, in which references start again. Those of types and scopes can
// themselves be referred to; no constructor can be one.
func (p *parser) template(isScope bool) *ident {
	outer := p.refs
	p.refs = backRefs{}
	id := p.symbolIdent()
	id.isTmpl = true
	id.args = p.arguments()
	p.refs = outer
	if isScope && !p.bad {
		if id.role != named {
			p.fail()
			return id
		}
		p.rememberIdent(id)
	}
	return id
}

// operator reads the code of an operator or of what else has no name of its own, after its ?.
func (p *parser) operator() *ident {
	table := &operators
	switch {
	case p.eat("__"):
		if p.eat("K") {
			return &ident{text: `operator ""` + p.simple(false).text}
		}
		table = &operators2
	case p.eat("_"):
		table = &operators1
	case p.eat("0"):
		return &ident{role: structor}
	case p.eat("1"):
		return &ident{role: structor, text: "~"}
	case p.eat("B"):
		return &ident{role: conversion}
	}
	c := p.next()
	if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
		p.fail()
	}
	return &ident{text: table[c]} // codes without a meaning have no text
}

// arguments reads the arguments of a template, up to an @.
func (p *parser) arguments() (args []arg) {
	for !p.bad && !p.eat("@") {
		if p.eat("$S") || p.eat("$$V") || p.eat("$$$V") || p.eat("$$Z") { // around packs
			continue
		}
		args = append(args, p.argument())
	}
	return args
}

// argument reads an argument of a template. The type of one that is declared auto stands before it and is not shown.
func (p *parser) argument() arg {
	auto := p.eat("$M")
	if auto {
		p.typ(noQuals)
	}
	switch {
	case p.eat("$$Y"):
		return arg{name: p.typeName()}
	case p.eat("$$B"):
		return arg{typ: p.typ(noQuals)}
	case p.eat("$$C"):
		return arg{typ: p.typ(withQuals)}
	}
	value := p.rest
	if !auto {
		value = strings.TrimPrefix(value, "$")
	}
	if value == "" || !auto && value == p.rest {
		return arg{typ: p.typ(noQuals)}
	}
	switch c := value[0]; c {
	case '0':
		p.rest = value[1:]
		n, negative := p.number()
		s := strconv.FormatUint(n, 10)
		if negative {
			s = "-" + s
		}
		return arg{text: s}
	case '1', 'H', 'I', 'J', 'E', 'F', 'G':
		p.rest = value[1:]
		return p.symbolArgument(c)
	}
	return arg{typ: p.typ(noQuals)}
}

// symbolArgument reads an argument that is the address of a symbol, a reference to it (E), or a pointer to a member with
// offsets: as many as the inheritance of its class asks for.
func (p *parser) symbolArgument(c byte) (a arg) {
	offsets := 0
	switch c {
	case 'E':
		a.sym = p.symbol()
		return a
	case 'F', 'G':
		offsets = int(c-'F') + 2
	default:
		a.pointer = true
		if c != '1' {
			offsets = int(c-'H') + 1
		}
		if p.peek() == '?' {
			a.sym = p.symbol()
			if p.bad || len(a.sym.name) == 0 {
				p.fail()
				return a
			}
			p.rememberIdent(a.sym.name[len(a.sym.name)-1])
		}
	}
	for range offsets {
		a.offsets = append(a.offsets, p.signed())
	}
	return a
}

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
