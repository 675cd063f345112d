package itanium

// functionType reads the type of a function, with its qualifiers and exception specification.
func (p *parser) functionType() *node {
	n := node{kind: signature, flags: p.qualifiers()}
	switch {
	case p.takes("Do"):
		n.b = p.word("noexcept")
	case p.takes("DO"):
		n.b = p.make(node{kind: noexcepts, a: p.expression()})
		if !p.take('E') {
			return p.fail()
		}
	case p.takes("Dw"):
		mark := len(p.found)
		for p.more('E') {
			p.found = append(p.found, p.typ())
		}
		n.b = p.make(node{kind: throws, list: p.since(mark)})
	}
	if p.takes("Dx") && !p.llvm {
		n.text = " transaction_safe"
	}
	if !p.take('F') {
		return p.fail()
	}
	p.take('Y') // extern "C"
	n.a = p.typ()
	mark := len(p.found)
	for p.more('E') {
		if p.take('v') {
			continue
		}
		if p.takes("RE") {
			n.flags |= isLvalue
			break
		}
		if p.takes("OE") {
			n.flags |= isRvalue
			break
		}
		p.found = append(p.found, p.typ())
	}
	n.list = p.since(mark)
	return p.make(n)
}

// arrayType reads an array of a number of elements, of as many as an expression says, or of unknown size.
func (p *parser) arrayType() *node {
	p.pos++
	n := node{kind: array}
	if isDigit(p.peek()) {
		n.b = p.word(p.number(false))
		if !p.take('_') {
			return p.fail()
		}
	} else if !p.take('_') {
		n.b = p.expression()
		if !p.take('_') {
			return p.fail()
		}
	}
	n.a = p.typ()
	return p.make(n)
}

// vectorType reads gcc's vectors.
func (p *parser) vectorType() *node {
	p.pos += 2
	n := node{kind: vector}
	if c := p.peek(); c >= '1' && c <= '9' {
		n.b = p.word(p.number(false))
		if !p.take('_') {
			return p.fail()
		}
		if p.take('p') {
			return p.make(node{kind: pixels, a: n.b})
		}
	} else if !p.take('_') {
		n.b = p.expression()
		if !p.take('_') {
			return p.fail()
		}
	}
	n.a = p.typ()
	return p.make(n)
}

// decltype reads the type of an expression.
func (p *parser) decltype() *node {
	if !p.takes("Dt") && !p.takes("DT") {
		return p.fail()
	}
	n := p.make(node{kind: enclosing, a: p.expression(), text: "decltype"})
	if !p.take('E') {
		return p.fail()
	}
	return n
}
