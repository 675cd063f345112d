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

// typeIdent reads the unqualified name of a type.
func (p *parser) typeIdent() *ident {
	switch {
	case p.atDigit():
		return p.reference()
	case p.consume("?$"):
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

// symbolIdent reads the unqualified name of a function or a variable.
func (p *parser) symbolIdent() *ident {
	switch {
	case p.atDigit():
		return p.reference()
	case p.consume("?$"):
		return p.template(false)
	case p.consume("?"):
		return p.operator()
	}
	return p.simple(true)
}

// scopes reads the scopes of id, which are encoded from the innermost to the outermost, up to an @.
func (p *parser) scopes(id *ident) nameNode {
	n := nameNode{id}
	for !p.bad && !p.consume("@") {
		n = append(n, p.scope())
	}
	for i, j := 0, len(n)-1; i < j; i, j = i+1, j-1 {
		n[i], n[j] = n[j], n[i]
	}
	return n
}

func (p *parser) scope() *ident {
	switch {
	case p.atDigit():
		return p.reference()
	case p.consume("?$"):
		return p.template(true)
	case p.consume("?A"): // followed by a key, which is the readable form of later back-references
		key, rest, ok := strings.Cut(p.rest, "@")
		if !ok {
			p.fail()
			return &ident{}
		}
		p.rest = rest
		p.memorize(key)
		return &ident{text: "`anonymous namespace'"}
	case p.atLocal():
		return p.local()
	}
	return p.simple(true)
}

// atLocal reports whether a scope in a function is next: a ?, the number of the scope, and the ? of the function's name.
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

// local reads a scope in a function.
func (p *parser) local() *ident {
	p.next()
	n, _ := p.number()
	p.expect("?")
	sym := p.symbol()
	if p.bad {
		return &ident{}
	}
	w := writer{budget: &p.budget}
	w.add("`")
	w.symbol(sym, 0)
	w.add("'::`" + strconv.FormatUint(n, 10) + "'")
	return &ident{text: string(w.out)}
}

// reference reads a back-reference to a name.
func (p *parser) reference() *ident {
	n := int(p.next() - '0')
	if n >= len(p.refs.names) {
		p.fail()
		return &ident{}
	}
	return &ident{text: p.refs.names[n]}
}

// simple reads an identifier up to its @, and optionally memorizes it.
func (p *parser) simple(memorize bool) *ident {
	s, rest, ok := strings.Cut(p.rest, "@")
	if !ok || s == "" {
		p.fail()
		return &ident{}
	}
	p.rest = rest
	if memorize {
		p.memorize(s)
	}
	return &ident{text: s}
}

// template reads the name of a template and its arguments, which have back-references of their own. The name of a type or a
// scope is memorized; it cannot be a constructor.
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
		p.memorizeIdent(id)
	}
	return id
}

// operator reads the code of an operator or another special function, after its ?.
func (p *parser) operator() *ident {
	table := &operators
	switch {
	case p.consume("__"):
		if p.consume("K") {
			return &ident{text: `operator ""` + p.simple(false).text}
		}
		table = &operators2
	case p.consume("_"):
		table = &operators1
	case p.consume("0"):
		return &ident{role: structor}
	case p.consume("1"):
		return &ident{role: structor, text: "~"}
	case p.consume("B"):
		return &ident{role: conversion}
	}
	c := p.next()
	if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
		p.fail()
	}
	return &ident{text: table[c]} // unassigned codes have no text
}

// arguments reads the arguments of a template, up to an @.
func (p *parser) arguments() (args []arg) {
	for !p.bad && !p.consume("@") {
		if p.consume("$S") || p.consume("$$V") || p.consume("$$$V") || p.consume("$$Z") { // empty packs and separators of packs
			continue
		}
		args = append(args, p.argument())
	}
	return args
}

// argument reads an argument of a template. The type of an argument for an auto parameter precedes it and is not printed.
func (p *parser) argument() arg {
	auto := p.consume("$M")
	if auto {
		p.typ(noQuals)
	}
	switch {
	case p.consume("$$Y"):
		return arg{name: p.typeName()}
	case p.consume("$$B"):
		return arg{typ: p.typ(noQuals)}
	case p.consume("$$C"):
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

// symbolArgument reads an argument that is the address of a symbol, a reference to one (E), or a pointer to a member. The number
// of offsets of the latter depends on the inheritance model of its class.
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
			p.memorizeIdent(a.sym.name[len(a.sym.name)-1])
		}
	}
	for range offsets {
		a.offsets = append(a.offsets, p.signed())
	}
	return a
}

// special reads the name of a compiler-generated entity after its first ?. It returns nil if the name is of another kind.
func (p *parser) special() *symbol {
	switch {
	case p.consume("?_7"):
		return p.table("`vftable'")
	case p.consume("?_8"):
		return p.table("`vbtable'")
	case p.consume("?_S"):
		return p.table("`local vftable'")
	case p.consume("?_R4"):
		return p.table("`RTTI Complete Object Locator'")
	case p.consume("?_9"):
		return p.vcall()
	case p.consume("?_A"), p.consume("?_P"):
		p.fail()
		return &symbol{}
	case p.consume("?_B"):
		return p.guard("`local static guard'")
	case p.consume("?__J"):
		return p.guard("`local static thread guard'")
	case p.consume("?_C"):
		return p.literal()
	case p.consume("?_R0"):
		t := p.typ(maybeQuals)
		p.expect("@8")
		if p.rest != "" {
			p.fail()
		}
		return &symbol{kind: variable, typ: t, name: nameNode{{text: "`RTTI Type Descriptor'"}}}
	case p.consume("?_R1"):
		a, b, c, d := p.unsigned(), p.signed(), p.unsigned(), p.unsigned()
		id := &ident{text: fmt.Sprintf("`RTTI Base Class Descriptor at (%d, %d, %d, %d)'", uint32(a), int32(b), uint32(c), uint32(d))}
		s := &symbol{kind: untyped, name: p.scopes(id)}
		p.consume("8")
		return s
	case p.consume("?_R2"):
		return p.untyped("`RTTI Base Class Array'")
	case p.consume("?_R3"):
		return p.untyped("`RTTI Class Hierarchy Descriptor'")
	case p.consume("?__E"):
		return p.stub("`dynamic initializer for ")
	case p.consume("?__F"):
		return p.stub("`dynamic atexit destructor for ")
	}
	return nil
}

// table reads the name of a table of a class, and the base classes that it is for.
func (p *parser) table(text string) *symbol {
	s := &symbol{kind: tableSymbol, name: p.scopes(&ident{text: text})}
	if c := p.next(); c != '6' && c != '7' {
		p.fail()
	}
	s.quals, _ = p.quals()
	for !p.bad && !p.consume("@") {
		s.targets = append(s.targets, p.typeName())
	}
	return s
}

// vcall reads a thunk that calls the virtual function at an offset of the vftable.
func (p *parser) vcall() *symbol {
	id := &ident{}
	s := &symbol{kind: functionSymbol, name: p.scopes(id)}
	p.expect("$B")
	id.text = fmt.Sprintf("`vcall'{%d, {flat}}", p.unsigned())
	p.expect("A")
	s.typ = &typeNode{form: function, sig: &signature{class: noParamList, thunk: true, convention: conventions[p.next()]}}
	return s
}

// guard reads the guard variable of static local variables.
func (p *parser) guard(text string) *symbol {
	id := &ident{text: text}
	s := &symbol{kind: untyped, name: p.scopes(id)}
	if !p.consume("4IA") {
		p.expect("5")
	}
	if p.rest != "" {
		if n := p.unsigned(); n > 0 {
			id.text += fmt.Sprintf("{%d}", uint32(n))
		}
	}
	return s
}

// untyped reads the class of a table of run-time type information.
func (p *parser) untyped(text string) *symbol {
	s := &symbol{kind: untyped, name: p.scopes(&ident{text: text})}
	p.expect("8")
	return s
}

// stub reads the function that initializes or destroys a variable. The variable is encoded as a symbol after a second ?, or
// only by its name.
func (p *parser) stub(text string) *symbol {
	id := &ident{role: stub, text: text}
	member := p.consume("?")
	s := p.declarator()
	if s.kind == variable {
		id.of = s
		p.expect("@")
		if member {
			p.expect("@")
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
