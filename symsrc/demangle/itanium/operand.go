package itanium

// functionParam reads a reference to a parameter of the function, or of one around it; these are not told apart.
func (p *parser) functionParam() *node {
	switch {
	case p.takes("fpT"):
		return p.word("this")
	case p.takes("fp"):
	case p.takes("fL"):
		if p.number(false) == "" || !p.take('p') {
			return p.fail()
		}
	default:
		return p.fail()
	}
	p.qualifiers()
	n := p.make(node{kind: parameter, text: p.number(false)})
	if !p.take('_') {
		return p.fail()
	}
	return n
}

// foldExpression reads a fold to the left or right, with an operand beside the pack (L, R) or without one.
func (p *parser) foldExpression() *node {
	n := node{kind: fold}
	p.pos++
	c := p.peek()
	p.pos++
	switch c {
	case 'l', 'L':
		n.flags = flagLeft
	case 'r', 'R':
	default:
		return p.fail()
	}
	op := p.operator()
	if op == nil || op.sort != opBinary && (op.sort != opMember || op.symbol[len(op.symbol)-1] != '*') {
		return p.fail()
	}
	n.text, n.a = op.symbol, p.expression()
	if c == 'L' || c == 'R' {
		n.b = p.expression()
	}
	if c == 'L' { // the operand comes first
		n.a, n.b = n.b, n.a
	}
	return p.make(n)
}

// bracedList reads the elements of an initialiser list.
func (p *parser) bracedList() []*node {
	mark := len(p.found)
	for p.more('E') {
		p.found = append(p.found, p.braced())
	}
	return p.since(mark)
}

// braced reads one element of an initialiser list, which may say of what: of a member, an element, or a range of them.
func (p *parser) braced() *node {
	switch {
	case p.takes("di"):
		n := node{kind: designated, a: p.sourceName()}
		n.b = p.braced()
		return p.make(n)
	case p.takes("dx"):
		n := node{kind: designated, flags: flagArray, a: p.expression()}
		n.b = p.braced()
		return p.make(n)
	case p.takes("dX"):
		n := node{kind: ranged, a: p.expression()}
		n.b = p.expression()
		n.c = p.braced()
		return p.make(n)
	}
	return p.expression()
}

// memberConversion reads the conversion of a pointer to member, whose offset is not written.
func (p *parser) memberConversion() *node {
	n := node{kind: toMember, prec: precUnary, a: p.typ()}
	n.b = p.expression()
	p.number(true)
	if !p.take('E') {
		return p.fail()
	}
	return p.make(n)
}

// subobjectOf reads a reference to a part of an object: its type, the object, the offset; which members of unions it goes
// through, and whether it is after the end of an array, is not written.
func (p *parser) subobjectOf() *node {
	n := node{kind: subobject, b: p.typ()}
	n.a = p.expression()
	n.text = p.number(true)
	for p.take('_') {
		p.number(false)
	}
	p.take('p')
	if !p.take('E') {
		return p.fail()
	}
	return p.make(n)
}

// vendorExpression reads a vendor's built-in function, and Microsoft's __uuidof in the form that it had before.
func (p *parser) vendorExpression() *node {
	n := node{kind: call, prec: precPostfix, a: p.sourceName()}
	mark := len(p.found)
	switch uuid := n.a.text == "__uuidof"; {
	case uuid && p.take('t'):
		p.found = append(p.found, p.typ())
	case uuid && p.take('z'):
		p.found = append(p.found, p.expression())
	default:
		for p.more('E') {
			p.found = append(p.found, p.argument())
		}
	}
	n.list = p.since(mark)
	return p.make(n)
}

// requiresExpression reads what an expression demands of its parameters, if it has any.
func (p *parser) requiresExpression() *node {
	n := node{kind: requires}
	mark := len(p.found)
	if p.takes("rQ") {
		for p.more('_') {
			p.found = append(p.found, p.typ())
		}
		n.a = p.make(node{kind: list, list: p.since(mark)})
	} else {
		p.takes("rq")
	}
	for {
		p.found = append(p.found, p.requirement())
		if !p.more('E') {
			break
		}
	}
	n.list = p.since(mark)
	return p.make(n)
}

// requirement reads one demand: that an expression is valid, perhaps noexcept and of a type; that there is a type; that a
// constraint holds.
func (p *parser) requirement() *node {
	switch {
	case p.take('X'):
		n := node{kind: requirement, a: p.expression()}
		if p.take('N') {
			n.flags = flagNoexcept
		}
		if p.take('R') {
			n.b = p.name(nil)
		}
		return p.make(n)
	case p.take('T'):
		return p.make(node{kind: typeWanted, a: p.typ()})
	case p.take('Q'):
		return p.make(node{kind: needed, a: p.expression()})
	}
	return p.fail()
}
