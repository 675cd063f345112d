package itanium

// literalTypes are the types of integers as they stand in parentheses before a literal, or, where they are shorter than
// four letters, after it.
var literalTypes = map[byte]string{
	'w': "wchar_t", 'c': "char", 'a': "signed char", 'h': "unsigned char", 's': "short", 't': "unsigned short", 'i': "",
	'j': "u", 'l': "l", 'm': "ul", 'x': "ll", 'y': "ull", 'n': "__int128", 'o': "unsigned __int128",
}

// literal reads a literal, or the address of a function or variable, up to its E.
func (p *parser) literal() *node {
	if !p.take('L') {
		return p.fail()
	}
	var n *node
	switch c := p.peek(); c {
	case 'b':
		switch {
		case p.takes("b0"):
			n = p.make(node{kind: integer, text: "false"})
		case p.takes("b1"):
			n = p.make(node{kind: integer, text: "true"})
		default:
			return p.fail()
		}
	case 'f':
		n = p.floatLiteral(8, 0)
	case 'd':
		n = p.floatLiteral(16, flagDouble)
	case 'e':
		n = p.floatLiteral(20, flagLongDouble)
	case '_':
		if !p.takes("_Z") {
			return p.fail()
		}
		n = p.encoding()
	case 'A':
		n = p.make(node{kind: stringIn, a: p.typ()})
	case 'D':
		if !p.takes("Dn") {
			return p.fail()
		}
		p.take('0')
		n = p.word("nullptr")
	case 'T': // an old mistake of compilers
		return p.fail()
	case 'U':
		if p.peekAt(1) != 'l' {
			return p.fail()
		}
		n = p.make(node{kind: lambdaExpr, a: p.unnamedType(nil)})
	default:
		n = p.integerLiteral(c)
	}
	if !p.take('E') {
		return p.fail()
	}
	return n
}

// integerLiteral reads an integer of a built-in type, or a value of another type, an enumeration as a rule.
func (p *parser) integerLiteral(c byte) *node {
	n := node{kind: integer}
	if t, ok := literalTypes[c]; ok {
		p.pos++
		n.suffix = t
	} else {
		n.kind, n.a = enumLit, p.typ()
	}
	if n.text = p.number(true); n.text == "" {
		return p.fail()
	}
	return p.make(n)
}

// floatLiteral reads the bytes of a number, the highest first, in lower-case hex.
func (p *parser) floatLiteral(digits int, sort flags) *node {
	p.pos++
	if p.left() <= digits {
		return p.fail()
	}
	text := p.s[p.pos : p.pos+digits]
	for _, c := range []byte(text) {
		if !isDigit(c) && (c < 'a' || c > 'f') {
			return p.fail()
		}
	}
	p.pos += digits
	return p.make(node{kind: float, text: text, flags: sort})
}
