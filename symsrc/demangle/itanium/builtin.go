package itanium

// builtins are the types of one letter, ABI §5.1.5.2, and extended those of two after D.
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

// nodes makes nodes that all names share; those for words are never changed.
func nodes(words map[byte]string) (all [256]*node) {
	for letter, text := range words {
		all[letter] = &node{kind: word, text: text}
	}
	return all
}

// fixedPoint are the widths of fixed-point types, ISO/IEC TR 18037.
var fixedPoint = map[byte]string{
	's': "short ", 't': "unsigned short ", 'i': "", 'j': "unsigned ", 'l': "long ", 'm': "unsigned long ",
}

// fixedPointType reads `DA`, `DR`, and the two after `DS`.
func (p *parser) fixedPointType() *node {
	saturating := ""
	if p.takes("DS") {
		saturating = "_Sat "
	}
	base := ""
	switch {
	case p.takes("DA"):
		base = "_Accum"
	case p.takes("DR"):
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
	if p.takes("16b") {
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
	n := node{kind: bitInteger}
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
