package itanium

// expression reads an expression, ABI §5.1.6.
func (p *parser) expression() *node {
	global := p.takeString("gs")
	if op := p.operator(); op != nil {
		return p.operation(op, global)
	}
	if p.remaining() < 2 {
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

// wordExpression reads an expression whose two-letter code is not that of an operator. It returns nil if none of them is next.
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
		mark := len(p.pending)
		for p.more('E') {
			p.pending = append(p.pending, p.argument())
		}
		pack := p.make(node{kind: list, list: p.popList(mark)})
		return p.make(node{kind: enclosing, a: pack, text: "sizeof... "})
	case "tr":
		return p.word("throw")
	case "tw":
		return p.make(node{kind: thrown, a: p.expression()})
	}
	p.pos = from
	return nil
}

// operation reads the operands of op, whose code has been read. global is set after `gs`, which stands for a leading `::`.
func (p *parser) operation(op *operator, global bool) *node {
	n := node{prec: op.prec, text: op.symbol}
	if global {
		n.flags |= flagGlobal
	}
	switch op.kind {
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

// expressionList reads expressions up to the byte end.
func (p *parser) expressionList(end byte) []*node {
	mark := len(p.pending)
	for p.more(end) {
		p.pending = append(p.pending, p.expression())
	}
	return p.popList(mark)
}

// newOperation reads the placement arguments, the type and the initializer of a new-expression.
func (p *parser) newOperation(n node, ofArray bool) *node {
	n.kind = newExpr
	if ofArray {
		n.flags |= flagArray
	}
	n.a = p.make(node{kind: list, list: p.expressionList('_')})
	n.b = p.typ()
	initialized := p.takeString("pi")
	n.c = p.make(node{kind: list, list: p.expressionList('E')})
	if !initialized && len(n.c.list) > 0 {
		return p.fail()
	}
	return p.make(n)
}

// castOperation reads a cast of one expression, or a conversion of a list of expressions: `cv` type `_` … `E`.
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
	mark := len(p.pending)
	p.pending = append(p.pending, p.expression())
	n.list = p.popList(mark)
	return p.make(n)
}

// functionParam reads a reference to a parameter of the function or of an enclosing one. The level is not printed.
func (p *parser) functionParam() *node {
	switch {
	case p.takeString("fpT"):
		return p.word("this")
	case p.takeString("fp"):
	case p.takeString("fL"):
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

// foldExpression reads a left or right fold, either unary (l, r) or binary (L, R).
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
	if op == nil || op.kind != opBinary && (op.kind != opMember || op.symbol[len(op.symbol)-1] != '*') {
		return p.fail()
	}
	n.text, n.a = op.symbol, p.expression()
	if c == 'L' || c == 'R' {
		n.b = p.expression()
	}
	if c == 'L' { // the operand comes before the pack
		n.a, n.b = n.b, n.a
	}
	return p.make(n)
}

// bracedList reads the elements of an initializer list.
func (p *parser) bracedList() []*node {
	mark := len(p.pending)
	for p.more('E') {
		p.pending = append(p.pending, p.braced())
	}
	return p.popList(mark)
}

// braced reads one element of an initializer list. It may have a designator: a member, an array element, or a range of these.
func (p *parser) braced() *node {
	switch {
	case p.takeString("di"):
		n := node{kind: designated, a: p.sourceName()}
		n.b = p.braced()
		return p.make(n)
	case p.takeString("dx"):
		n := node{kind: designated, flags: flagArray, a: p.expression()}
		n.b = p.braced()
		return p.make(n)
	case p.takeString("dX"):
		n := node{kind: ranged, a: p.expression()}
		n.b = p.expression()
		n.c = p.braced()
		return p.make(n)
	}
	return p.expression()
}

// memberConversion reads the conversion of a pointer to member. Its offset is not printed.
func (p *parser) memberConversion() *node {
	n := node{kind: memberConversion, prec: precUnary, a: p.typ()}
	n.b = p.expression()
	p.number(true)
	if !p.take('E') {
		return p.fail()
	}
	return p.make(n)
}

// subobjectOf reads a reference to a subobject: its type, the object, and the offset. The selected members of unions and the
// mark of a pointer past the end of an array are not printed.
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

// vendorExpression reads a vendor extended expression, including clang's old form of Microsoft's __uuidof.
func (p *parser) vendorExpression() *node {
	n := node{kind: call, prec: precPostfix, a: p.sourceName()}
	mark := len(p.pending)
	switch uuid := n.a.text == "__uuidof"; {
	case uuid && p.take('t'):
		p.pending = append(p.pending, p.typ())
	case uuid && p.take('z'):
		p.pending = append(p.pending, p.expression())
	default:
		for p.more('E') {
			p.pending = append(p.pending, p.argument())
		}
	}
	n.list = p.popList(mark)
	return p.make(n)
}

// requiresExpression reads a requires-expression, with parameters (`rQ`) or without (`rq`).
func (p *parser) requiresExpression() *node {
	n := node{kind: requires}
	mark := len(p.pending)
	if p.takeString("rQ") {
		for p.more('_') {
			p.pending = append(p.pending, p.typ())
		}
		n.a = p.make(node{kind: list, list: p.popList(mark)})
	} else {
		p.takeString("rq")
	}
	for {
		p.pending = append(p.pending, p.requirement())
		if !p.more('E') {
			break
		}
	}
	n.list = p.popList(mark)
	return p.make(n)
}

// requirement reads one requirement of a requires-expression: a simple or compound requirement (X), a type requirement (T), or
// a nested requirement (Q).
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
		return p.make(node{kind: typeRequirement, a: p.typ()})
	case p.take('Q'):
		return p.make(node{kind: nestedRequirement, a: p.expression()})
	}
	return p.fail()
}

// precedence is the precedence of an expression; greater values bind less tightly. An operand that binds less tightly than its
// operator is printed in parentheses.
type precedence uint8

const (
	precPrimary precedence = iota
	precPostfix
	precUnary
	precCast
	precPtrMem
	precMultiplicative
	precAdditive
	precShift
	precSpaceship
	precRelational
	precEquality
	precAnd
	precXor
	precIor
	precAndIf
	precOrIf
	precConditional
	precAssign
	precComma
	precDefault
)

// operatorKind says which operands an operator has. The comments say what operator.flag means.
type operatorKind uint8

const (
	opPrefix operatorKind = iota
	opPostfix
	opBinary
	opArray
	opMember // flag: it can be overloaded
	opNew    // flag: for arrays
	opDelete // flag: for arrays
	opCall   // flag: the function is in parentheses, which suppresses argument-dependent lookup
	opCast
	opConditional
	opNameOnly
	opNamedCast
	opOf // flag: the operand is a type

	opUnnameable = opNamedCast // the operators from here on cannot be overloaded
)

// operator is an entry of the table of operators.
type operator struct {
	code   string
	kind   operatorKind
	flag   bool
	prec   precedence
	name   string // of the operator function
	symbol string // in expressions
}

// operators are the operators of ABI §5.1.3.
var operators = [...]operator{
	{"aN", opBinary, false, precAssign, "operator&=", "&="},
	{"aS", opBinary, false, precAssign, "operator=", "="},
	{"aa", opBinary, false, precAndIf, "operator&&", "&&"},
	{"ad", opPrefix, false, precUnary, "operator&", "&"},
	{"an", opBinary, false, precAnd, "operator&", "&"},
	{"at", opOf, true, precUnary, "", "alignof "},
	{"aw", opNameOnly, false, precPrimary, "operator co_await", ""},
	{"az", opOf, false, precUnary, "", "alignof "},
	{"cc", opNamedCast, false, precPostfix, "", "const_cast"},
	{"cl", opCall, false, precPostfix, "operator()", "()"},
	{"cm", opBinary, false, precComma, "operator,", ","},
	{"co", opPrefix, false, precUnary, "operator~", "~"},
	{"cp", opCall, true, precPostfix, "operator()", "()"},
	{"cv", opCast, false, precCast, "operator", ""},
	{"dV", opBinary, false, precAssign, "operator/=", "/="},
	{"da", opDelete, true, precUnary, "operator delete[]", ""},
	{"dc", opNamedCast, false, precPostfix, "", "dynamic_cast"},
	{"de", opPrefix, false, precUnary, "operator*", "*"},
	{"dl", opDelete, false, precUnary, "operator delete", ""},
	{"ds", opMember, false, precPtrMem, "operator.*", ".*"},
	{"dt", opMember, false, precPostfix, "operator.", "."},
	{"dv", opBinary, false, precAssign, "operator/", "/"}, // llvm has this precedence
	{"eO", opBinary, false, precAssign, "operator^=", "^="},
	{"eo", opBinary, false, precXor, "operator^", "^"},
	{"eq", opBinary, false, precEquality, "operator==", "=="},
	{"ge", opBinary, false, precRelational, "operator>=", ">="},
	{"gt", opBinary, false, precRelational, "operator>", ">"},
	{"ix", opArray, false, precPostfix, "operator[]", ""},
	{"lS", opBinary, false, precAssign, "operator<<=", "<<="},
	{"le", opBinary, false, precRelational, "operator<=", "<="},
	{"ls", opBinary, false, precShift, "operator<<", "<<"},
	{"lt", opBinary, false, precRelational, "operator<", "<"},
	{"mI", opBinary, false, precAssign, "operator-=", "-="},
	{"mL", opBinary, false, precAssign, "operator*=", "*="},
	{"mi", opBinary, false, precAdditive, "operator-", "-"},
	{"ml", opBinary, false, precMultiplicative, "operator*", "*"},
	{"mm", opPostfix, false, precPostfix, "operator--", "--"},
	{"na", opNew, true, precUnary, "operator new[]", ""},
	{"ne", opBinary, false, precEquality, "operator!=", "!="},
	{"ng", opPrefix, false, precUnary, "operator-", "-"},
	{"nt", opPrefix, false, precUnary, "operator!", "!"},
	{"nw", opNew, false, precUnary, "operator new", ""},
	{"oR", opBinary, false, precAssign, "operator|=", "|="},
	{"oo", opBinary, false, precOrIf, "operator||", "||"},
	{"or", opBinary, false, precIor, "operator|", "|"},
	{"pL", opBinary, false, precAssign, "operator+=", "+="},
	{"pl", opBinary, false, precAdditive, "operator+", "+"},
	{"pm", opMember, true, precPtrMem, "operator->*", "->*"},
	{"pp", opPostfix, false, precPostfix, "operator++", "++"},
	{"ps", opPrefix, false, precUnary, "operator+", "+"},
	{"pt", opMember, true, precPostfix, "operator->", "->"},
	{"qu", opConditional, false, precConditional, "operator?", ""},
	{"rM", opBinary, false, precAssign, "operator%=", "%="},
	{"rS", opBinary, false, precAssign, "operator>>=", ">>="},
	{"rc", opNamedCast, false, precPostfix, "", "reinterpret_cast"},
	{"rm", opBinary, false, precMultiplicative, "operator%", "%"},
	{"rs", opBinary, false, precShift, "operator>>", ">>"},
	{"sc", opNamedCast, false, precPostfix, "", "static_cast"},
	{"ss", opBinary, false, precSpaceship, "operator<=>", "<=>"},
	{"st", opOf, true, precUnary, "", "sizeof "},
	{"sz", opOf, false, precUnary, "", "sizeof "},
	{"te", opOf, false, precPostfix, "", "typeid "},
	{"ti", opOf, true, precPostfix, "", "typeid "},
}

// operatorAt maps the two letters of an operator to its index in operators plus one, or to 0 if there is none.
var operatorAt = func() (at [26][64]uint8) {
	for i, op := range operators {
		at[op.code[0]-'a'][op.code[1]-'@'] = uint8(i + 1)
	}
	return at
}()

// operator reads the two letters of an operator. It returns nil if none is next.
func (p *parser) operator() *operator {
	a, b := p.peek()-'a', p.peekAt(1)-'@'
	if a >= 26 || b >= 64 || operatorAt[a][b] == 0 {
		return nil
	}
	p.pos += 2
	return &operators[operatorAt[a][b]-1]
}

// literalTypes are the types of integer literals. Those of at most three letters are printed as a suffix, the others in
// parentheses before the literal.
var literalTypes = map[byte]string{
	'w': "wchar_t", 'c': "char", 'a': "signed char", 'h': "unsigned char", 's': "short", 't': "unsigned short", 'i': "",
	'j': "u", 'l': "l", 'm': "ul", 'x': "ll", 'y': "ull", 'n': "__int128", 'o': "unsigned __int128",
}

// literal reads a literal, or the address of a function or variable, including the final E.
func (p *parser) literal() *node {
	if !p.take('L') {
		return p.fail()
	}
	var n *node
	switch c := p.peek(); c {
	case 'b':
		switch {
		case p.takeString("b0"):
			n = p.make(node{kind: integer, text: "false"})
		case p.takeString("b1"):
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
		if !p.takeString("_Z") {
			return p.fail()
		}
		n = p.encoding()
	case 'A':
		n = p.make(node{kind: stringLit, a: p.typ()})
	case 'D':
		if !p.takeString("Dn") {
			return p.fail()
		}
		p.take('0')
		n = p.word("nullptr")
	case 'T': // a bug of old compilers, which llvm rejects, too
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

// integerLiteral reads an integer of a builtin type, or a value of another type, usually of an enumeration.
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

// floatLiteral reads a floating-point number: its bytes, the most significant first, in lower-case hexadecimal.
func (p *parser) floatLiteral(digits int, precision flags) *node {
	p.pos++
	if p.remaining() <= digits {
		return p.fail()
	}
	text := p.s[p.pos : p.pos+digits]
	for _, c := range []byte(text) {
		if !isDigit(c) && (c < 'a' || c > 'f') {
			return p.fail()
		}
	}
	p.pos += digits
	return p.make(node{kind: float, text: text, flags: precision})
}
