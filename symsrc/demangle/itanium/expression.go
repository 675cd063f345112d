package itanium

// expression reads an expression, ABI §5.1.6.
func (p *parser) expression() *node {
	global := p.takes("gs")
	if op := p.operator(); op != nil {
		return p.operation(op, global)
	}
	if p.left() < 2 {
		return p.fail()
	}
	switch c, next := p.peek(), p.peekAt(1); c {
	case 'L':
		return p.literal()
	case 'T':
		return p.templateParam()
	case 'f':
		// fp or fL0p is a parameter, fL with an operator a fold.
		if next == 'p' || next == 'L' && isDigit(p.peekAt(2)) {
			return p.functionParam()
		}
		return p.foldExpression()
	case 'u':
		p.pos++
		return p.vendorExpression()
	case 'r':
		if next == 'q' || next == 'Q' {
			return p.requiresExpression()
		}
	}
	if n := p.wordExpression(); n != nil {
		return n
	}
	return p.unresolvedName(global)
}

// wordExpression reads the expressions with two letters that are no operators, nil if none of them comes.
func (p *parser) wordExpression() *node {
	from := p.pos
	c, next := p.peek(), p.peekAt(1)
	p.pos += 2
	switch string([]byte{c, next}) {
	case "il":
		return p.make(node{kind: braces, list: p.bracedList()})
	case "tl":
		t := p.typ()
		return p.make(node{kind: braces, a: t, list: p.bracedList()})
	case "mc":
		return p.memberConversion()
	case "so":
		return p.subobjectOf()
	case "nx":
		return p.make(node{kind: enclosing, a: p.expression(), text: "noexcept ", prec: precUnary})
	case "sp":
		return p.make(node{kind: expansion, a: p.expression()})
	case "sZ":
		if p.peek() == 'T' {
			return p.make(node{kind: packSize, a: p.templateParam()})
		}
		return p.make(node{kind: enclosing, a: p.functionParam(), text: "sizeof... "})
	case "sP":
		mark := len(p.found)
		for p.more('E') {
			p.found = append(p.found, p.argument())
		}
		pack := p.make(node{kind: list, list: p.since(mark)})
		return p.make(node{kind: enclosing, a: pack, text: "sizeof... "})
	case "tr":
		return p.word("throw")
	case "tw":
		return p.make(node{kind: thrown, a: p.expression()})
	}
	p.pos = from
	return nil
}

// operation reads the operands of op.
func (p *parser) operation(op *operator, global bool) *node {
	n := node{prec: op.prec, text: op.symbol}
	if global {
		n.flags |= flagGlobal
	}
	switch op.sort {
	case opPrefix:
		n.kind, n.a = prefix, p.expression()
	case opPostfix:
		n.kind = postfix
		if p.take('_') {
			n.kind = prefix
		}
		n.a = p.expression()
	case opBinary:
		n.kind, n.a = binary, p.expression()
		n.b = p.expression()
	case opArray:
		n.kind, n.a = subscript, p.expression()
		n.b = p.expression()
	case opMember:
		n.kind, n.a = memberOf, p.expression()
		n.b = p.expression()
	case opConditional:
		n.kind, n.a = conditional, p.expression()
		n.b = p.expression()
		n.c = p.expression()
	case opNamedCast:
		n.kind, n.a = cast, p.typ()
		n.b = p.expression()
	case opOf:
		n.kind = enclosing
		if op.flag {
			n.a = p.typ()
		} else {
			n.a = p.expression()
		}
	case opNew:
		return p.newOperation(n, op.flag)
	case opDelete:
		if op.flag {
			n.flags |= flagArray
		}
		n.kind, n.a = deleteExpr, p.expression()
	case opCall:
		if n.flags = 0; op.flag {
			n.flags = flagParen
		}
		n.kind, n.a = call, p.expression()
		n.list = p.expressionList('E')
	case opCast:
		return p.castOperation(n)
	case opNameOnly:
		if p.llvm {
			return p.fail()
		}
		n.kind, n.prec, n.text = prefix, precUnary, "co_await "
		n.a = p.expression()
	default:
		return p.fail()
	}
	return p.make(n)
}

// expressionList reads expressions until end.
func (p *parser) expressionList(end byte) []*node {
	mark := len(p.found)
	for p.more(end) {
		p.found = append(p.found, p.expression())
	}
	return p.since(mark)
}

// newOperation reads the placement, type and initialiser of a new.
func (p *parser) newOperation(n node, ofArray bool) *node {
	n.kind = newExpr
	if ofArray {
		n.flags |= flagArray
	}
	n.a = p.make(node{kind: list, list: p.expressionList('_')})
	n.b = p.typ()
	initialised := p.takes("pi")
	n.c = p.make(node{kind: list, list: p.expressionList('E')})
	if !initialised && len(n.c.list) > 0 {
		return p.fail()
	}
	return p.make(n)
}

// castOperation reads a cast of one expression, or a constructor call with several: `cv` type `_` … E.
func (p *parser) castOperation(n node) *node {
	plain := p.plainParam
	p.plainParam = true
	n.kind, n.a = cCast, p.typ()
	p.plainParam = plain
	if p.take('_') {
		n.list = p.expressionList('E')
		return p.make(n)
	}
	if p.peek() == 'E' {
		return p.fail()
	}
	mark := len(p.found)
	p.found = append(p.found, p.expression())
	n.list = p.since(mark)
	return p.make(n)
}
