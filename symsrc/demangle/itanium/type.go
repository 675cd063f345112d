package itanium

// typ reads a type. All types except builtin ones and substitutions become substitution candidates.
func (p *parser) typ() *node {
	c := p.peek()
	if n := builtins[c]; n != nil {
		p.pos++
		return n
	}
	var n *node
	candidate := true
	switch c {
	case 'D':
		n, candidate = p.typeD()
	case 'S':
		n, candidate = p.typeS()
	case 'T':
		n = p.typeT()
	case 'r', 'V', 'K':
		n = p.qualifiedOrFunction()
	case 'P':
		p.pos++
		n = p.make(node{kind: pointer, a: p.typ()})
	case 'R':
		p.pos++
		n = p.make(node{kind: reference, a: p.typ()})
	case 'O':
		p.pos++
		n = p.make(node{kind: reference, a: p.typ(), flags: flagRvalue})
	case 'C':
		p.pos++
		n = p.make(node{kind: postfixed, a: p.typ(), text: p.either(" _Complex", " complex")})
	case 'G':
		p.pos++
		n = p.make(node{kind: postfixed, a: p.typ(), text: p.either(" _Imaginary", " imaginary")})
	case 'F':
		n = p.functionType()
	case 'A':
		n = p.arrayType()
	case 'M':
		p.pos++
		class := p.typ()
		n = p.make(node{kind: member, a: class, b: p.typ()})
	case 'U':
		n = p.qualifiedType()
	case 'u':
		n = p.vendorType()
	default:
		n = p.name(nil)
	}
	if candidate {
		p.subs = append(p.subs, n)
	}
	return n
}

// either returns llvm in style LLVM, and general otherwise.
func (p *parser) either(general, llvm string) string {
	if p.llvm {
		return llvm
	}
	return general
}

// typeD reads the types that begin with a D.
func (p *parser) typeD() (n *node, candidate bool) {
	c := p.peekAt(1)
	if n := extended[c]; n != nil {
		p.pos += 2
		return n, false
	}
	switch c {
	case 'F':
		return p.floatType(), false
	case 'A', 'R', 'S':
		return p.fixedPointType(), false
	case 'B', 'U':
		return p.bitInt(), true
	case 'k', 'K':
		text := " auto"
		if c == 'K' {
			text = " decltype(auto)"
		}
		p.pos += 2
		return p.make(node{kind: postfixed, a: p.name(nil), text: text}), false
	case 't', 'T':
		return p.decltype(), true
	case 'v':
		return p.vectorType(), true
	case 'p':
		p.pos += 2
		return p.make(node{kind: expansion, a: p.typ()}), true
	case 'o', 'O', 'w', 'x':
		return p.functionType(), true
	}
	return p.fail(), false
}

// typeS reads the types that begin with an S: substitutions, and names in std.
func (p *parser) typeS() (n *node, candidate bool) {
	if p.peekAt(1) == 't' {
		return p.name(nil), true
	}
	n, substituted := p.unscopedName(nil, true)
	switch {
	case p.peek() == 'I' && !(substituted && p.plainParam && p.llvm):
		if !substituted {
			p.subs = append(p.subs, n)
		}
		return p.make(node{kind: instance, a: n, b: p.arguments(nil)}), true
	case substituted:
		return n, false
	}
	return n, true
}

// typeT reads the types that begin with a T: template parameters, with arguments if they are templates, and elaborated type
// specifiers.
func (p *parser) typeT() *node {
	keyword := ""
	switch p.peekAt(1) {
	case 's':
		keyword = "struct"
	case 'u':
		keyword = "union"
	case 'e':
		keyword = "enum"
	}
	if keyword != "" {
		p.pos += 2
		return p.make(node{kind: elaborated, a: p.name(nil), text: keyword})
	}
	n := p.templateParam()
	if p.peek() != 'I' || p.plainParam {
		return n
	}
	p.subs = append(p.subs, n)
	return p.make(node{kind: instance, a: n, b: p.arguments(nil)})
}

// qualifiedOrFunction reads a type after optional CV-qualifiers: a function type, which has them itself, or a qualified type.
func (p *parser) qualifiedOrFunction() *node {
	k := 0
	for _, c := range []byte("rVK") {
		if p.peekAt(k) == c {
			k++
		}
	}
	switch c := p.peekAt(k + 1); {
	case p.peekAt(k) == 'F', p.peekAt(k) == 'D' && (c == 'o' || c == 'O' || c == 'w' || c == 'x'):
		return p.functionType()
	}
	return p.qualifiedType()
}

// qualifiedType reads a type with optional qualifiers.
func (p *parser) qualifiedType() *node {
	if p.take('U') {
		return p.vendorQualified()
	}
	q := p.qualifiers()
	n := p.typ()
	if q == 0 {
		return n
	}
	return p.make(node{kind: qualified, a: n, flags: q})
}

// vendorQualified reads a vendor's qualifier or an Objective-C protocol, and the type.
func (p *parser) vendorQualified() *node {
	text := p.identifier()
	if text == "" {
		return p.fail()
	}
	const objc = "objcproto"
	if p.llvm && len(text) >= len(objc) && text[:len(objc)] == objc {
		inner := parser{s: text[len(objc):]}
		if text = inner.identifier(); text == "" {
			return p.fail()
		}
		return p.make(node{kind: objcProtocol, a: p.qualifiedType(), text: text})
	}
	n := node{kind: vendor, text: text}
	if p.peek() == 'I' {
		n.b = p.arguments(nil)
	}
	n.a = p.qualifiedType()
	return p.make(n)
}

// vendorType reads a vendor's builtin type, or a builtin trait applied to a type.
func (p *parser) vendorType() *node {
	p.pos++
	text := p.identifier()
	if text == "" {
		return p.fail()
	}
	if !p.take('I') {
		return p.word(text)
	}
	n := p.make(node{kind: transformed, a: p.typ(), text: text})
	if !p.take('E') {
		return p.fail()
	}
	return n
}

// functionType reads the type of a function, with its qualifiers and exception specification.
func (p *parser) functionType() *node {
	n := node{kind: signature, flags: p.qualifiers()}
	switch {
	case p.takeString("Do"):
		n.b = p.word("noexcept")
	case p.takeString("DO"):
		n.b = p.make(node{kind: noexceptSpec, a: p.expression()})
		if !p.take('E') {
			return p.fail()
		}
	case p.takeString("Dw"):
		mark := len(p.pending)
		for p.more('E') {
			p.pending = append(p.pending, p.typ())
		}
		n.b = p.make(node{kind: throwSpec, list: p.popList(mark)})
	}
	if p.takeString("Dx") && !p.llvm {
		n.text = " transaction_safe"
	}
	if !p.take('F') {
		return p.fail()
	}
	p.take('Y') // extern "C"
	n.a = p.typ()
	mark := len(p.pending)
	for p.more('E') {
		if p.take('v') {
			continue
		}
		if p.takeString("RE") {
			n.flags |= isLvalue
			break
		}
		if p.takeString("OE") {
			n.flags |= isRvalue
			break
		}
		p.pending = append(p.pending, p.typ())
	}
	n.list = p.popList(mark)
	return p.make(n)
}

// arrayType reads an array whose dimension is a number, an expression, or unknown.
func (p *parser) arrayType() *node {
	p.pos++
	n := node{kind: array}
	if isDigit(p.peek()) {
		n.b = p.word(p.number(false))
		if !p.take('_') {
			return p.fail()
		}
	} else if !p.extent(&n) {
		return p.fail()
	}
	n.a = p.typ()
	return p.make(n)
}

// extent reads the dimension of an array or a vector that is not a number: an expression, or nothing.
func (p *parser) extent(n *node) bool {
	if p.take('_') {
		return true
	}
	n.b = p.expression()
	return p.take('_')
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
			return p.make(node{kind: pixelVector, a: n.b})
		}
	} else if !p.extent(&n) {
		return p.fail()
	}
	n.a = p.typ()
	return p.make(n)
}

// decltype reads the type of an expression.
func (p *parser) decltype() *node {
	if !p.takeString("Dt") && !p.takeString("DT") {
		return p.fail()
	}
	n := p.make(node{kind: enclosing, a: p.expression(), text: "decltype"})
	if !p.take('E') {
		return p.fail()
	}
	return n
}

// builtins are the builtin types with a code of one letter, ABI §5.1.5.2; extended are those with a D before the letter.
var (
	builtins = nodes(map[byte]string{
		'v': "void", 'w': "wchar_t", 'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char", 's': "short",
		't': "unsigned short", 'i': "int", 'j': "unsigned int", 'l': "long", 'm': "unsigned long", 'x': "long long",
		'y': "unsigned long long", 'n': "__int128", 'o': "unsigned __int128", 'f': "float", 'd': "double",
		'e': "long double", 'g': "__float128", 'z': "...",
	})
	extended = nodes(map[byte]string{
		'd': "decimal64", 'e': "decimal128", 'f': "decimal32", 'h': "half", 'i': "char32_t", 's': "char16_t",
		'u': "char8_t", 'a': "auto", 'c': "decltype(auto)", 'n': "std::nullptr_t",
	})
)

// nodes returns a node for each word. They are shared by all names and never modified.
func nodes(words map[byte]string) (all [256]*node) {
	for letter, text := range words {
		all[letter] = &node{kind: word, text: text}
	}
	return all
}

// fixedPoint are the widths of the fixed-point types of ISO/IEC TR 18037.
var fixedPoint = map[byte]string{
	's': "short ", 't': "unsigned short ", 'i': "", 'j': "unsigned ", 'l': "long ", 'm': "unsigned long ",
}

// fixedPointType reads `DA`, `DR`, and the two after `DS`.
func (p *parser) fixedPointType() *node {
	saturating := ""
	if p.takeString("DS") {
		saturating = "_Sat "
	}
	base := ""
	switch {
	case p.takeString("DA"):
		base = "_Accum"
	case p.takeString("DR"):
		base = "_Fract"
	default:
		return p.fail()
	}
	width, ok := fixedPoint[p.peek()]
	if !ok {
		return p.fail()
	}
	p.pos++
	return p.word(saturating + width + base)
}

// floatType reads `DF16_` and `DF16b`.
func (p *parser) floatType() *node {
	p.pos += 2
	if p.takeString("16b") {
		return p.word("std::bfloat16_t")
	}
	digits := p.number(false)
	if !p.take('_') {
		return p.fail()
	}
	return p.make(node{kind: special, a: p.word(digits), text: "_Float"})
}

// bitInt reads `DB` and `DU` with a number or an expression.
func (p *parser) bitInt() *node {
	n := node{kind: bitInt}
	if p.peekAt(1) == 'U' {
		n.flags = flagUnsigned
	}
	p.pos += 2
	if isDigit(p.peek()) {
		n.a = p.word(p.number(false))
	} else {
		n.a = p.expression()
	}
	if !p.take('_') {
		return p.fail()
	}
	return p.make(n)
}
