package itanium

// unqualifiedName reads one part of a name, in scope (nil for none) and in module m (nil for none).
func (p *parser) unqualifiedName(state *nameState, scope, m *node) *node {
	m = p.moduleName(m)
	befriended := scope != nil && p.take('F')
	p.take('L') // internal linkage
	var n *node
	switch c := p.peek(); {
	case c >= '1' && c <= '9':
		n = p.sourceName()
	case c == 'U':
		n = p.unnamedType(state)
	case c == 'D' && p.peekAt(1) == 'C':
		n = p.structuredBinding()
	case c == 'C' || c == 'D':
		if scope == nil || m != nil {
			return p.fail()
		}
		n, scope = p.constructorName(scope, state)
	default:
		n = p.operatorName(state)
	}
	if m != nil {
		n = p.make(node{kind: inModule, a: n, b: m})
	}
	n = p.tags(n)
	switch {
	case befriended:
		return p.make(node{kind: friend, a: scope, b: n})
	case scope != nil:
		return p.make(node{kind: nested, a: scope, b: n})
	}
	return n
}

// moduleName reads the parts of a module's name after m; it returns m if there are none.
func (p *parser) moduleName(m *node) *node {
	for p.take('W') {
		next := node{kind: module, a: m}
		if p.take('P') {
			next.flags = flagPartition
		}
		next.text = p.sourceName().text
		m = p.make(next)
		p.subs = append(p.subs, m)
	}
	return m
}

// sourceName reads an identifier.
func (p *parser) sourceName() *node {
	text := p.identifier()
	if text == "" {
		return p.fail()
	}
	const anonymous = "_GLOBAL__N"
	if len(text) >= len(anonymous) && text[:len(anonymous)] == anonymous {
		text = "(anonymous namespace)"
	}
	return p.word(text)
}

// tags reads ABI tags after n; it returns n if there are none.
func (p *parser) tags(n *node) *node {
	for p.take('B') {
		text := p.identifier()
		if text == "" {
			return p.fail()
		}
		n = p.make(node{kind: tagged, a: n, text: text})
	}
	return n
}

// structuredBinding reads the names of one.
func (p *parser) structuredBinding() *node {
	p.takes("DC")
	mark := len(p.found)
	for {
		p.found = append(p.found, p.sourceName())
		if !p.more('E') {
			break
		}
	}
	return p.make(node{kind: bindings, list: p.since(mark)})
}

// constructorName reads which constructor or destructor of scope it is. Where that is a standard abbreviation, it is
// written out from here on.
func (p *parser) constructorName(scope *node, state *nameState) (n, in *node) {
	if scope.kind == standard {
		scope = p.make(node{kind: expanded, index: scope.index})
	}
	made := node{kind: constructor, a: scope}
	c := p.peek()
	p.pos++
	inherited := c == 'C' && p.take('I')
	digit := p.peek()
	switch {
	case c == 'C' && digit >= '1' && digit <= '5':
	case c == 'D' && digit >= '0' && digit <= '5' && digit != '3':
		made.flags = flagDestructor
	default:
		return p.fail(), scope
	}
	p.pos++
	if state != nil {
		state.untyped = true
	}
	if inherited {
		p.name(state) // the base whose constructor it was
	}
	return p.make(made), scope
}

// operatorName reads the name of an operator function.
func (p *parser) operatorName(state *nameState) *node {
	if op := p.operator(); op != nil {
		switch {
		case op.sort == opCast:
			return p.conversionName(state)
		case op.sort >= opUnnameable, op.sort == opMember && !op.flag:
			return p.fail()
		}
		return p.word(op.name)
	}
	if p.takes("li") {
		return p.make(node{kind: userLiteral, a: p.sourceName()})
	}
	if p.take('v') && isDigit(p.peek()) { // a vendor's, with its number of operands
		p.pos++
		return p.make(node{kind: conversion, a: p.sourceName()})
	}
	return p.fail()
}

// conversionName reads the type of a conversion operator. Its template parameters may refer to arguments that follow.
func (p *parser) conversionName(state *nameState) *node {
	plain, permit := p.plainParam, p.permitForward
	p.plainParam, p.permitForward = true, permit || state != nil
	t := p.typ()
	p.plainParam, p.permitForward = plain, permit
	if state != nil {
		state.untyped = true
	}
	return p.make(node{kind: conversion, a: t})
}
