package itanium

// name reads a name with its scope and template arguments. state is nil if the name is not that of an encoding; then template
// parameters do not refer to its arguments.
func (p *parser) name(state *nameState) *node {
	switch p.peek() {
	case 'N':
		return p.nestedName(state)
	case 'Z':
		return p.localName(state)
	}
	n, substituted := p.unscopedName(state, true)
	if p.peek() != 'I' {
		if substituted {
			return p.fail()
		}
		return n
	}
	if !substituted {
		p.subs = append(p.subs, n)
	}
	args := p.arguments(state)
	return p.make(node{kind: instance, a: n, b: args})
}

// localName reads the name of an entity declared in a function, or of a string literal in it: the function's encoding and a name.
func (p *parser) localName(state *nameState) *node {
	p.take('Z')
	n := node{kind: local, a: p.encoding()}
	if !p.take('E') {
		return p.fail()
	}
	if p.take('s') {
		p.discriminator()
		n.b = p.word("string literal")
		return p.make(n)
	}
	outside := p.openScopes()
	if p.take('d') { // in a default argument
		p.number(true)
		if !p.take('_') {
			return p.fail()
		}
		n.b = p.name(state)
	} else {
		n.b = p.name(state)
		p.discriminator()
	}
	if p.llvm {
		p.closeScopes(outside)
	}
	return p.make(n)
}

// discriminator skips the number that distinguishes local entities with the same name: `_1`, `__12_`, or digits at the end.
func (p *parser) discriminator() {
	digits := func(from int) int {
		for from < len(p.s) && isDigit(p.s[from]) {
			from++
		}
		return from
	}
	switch {
	case p.peek() == '_' && isDigit(p.peekAt(1)):
		p.pos += 2
	case p.peek() == '_' && p.peekAt(1) == '_':
		if end := digits(p.pos + 2); end < len(p.s) && p.s[end] == '_' {
			p.pos = end + 1
		}
	case isDigit(p.peek()):
		if digits(p.pos) == len(p.s) {
			p.pos = len(p.s)
		}
	}
}

// unscopedName reads a name without a scope, or in std. A substitution on its own is accepted only if allowed is set.
func (p *parser) unscopedName(state *nameState, allowed bool) (n *node, substituted bool) {
	var scope, m *node
	if p.takeString("St") {
		scope = p.word("std")
	}
	if p.peek() == 'S' {
		s := p.substitution()
		switch {
		case s.kind == module:
			m = s
		case allowed && scope == nil:
			return s, true
		default:
			return p.fail(), false
		}
	}
	return p.unqualifiedName(state, scope, m), false
}

// nestedName reads a name with its scopes, and the CV- and ref-qualifiers of a member function.
func (p *parser) nestedName(state *nameState) *node {
	p.take('N')
	if p.take('H') {
		if state != nil {
			state.flags |= hasThis
		}
	} else {
		q := p.qualifiers()
		if p.take('O') {
			q |= isRvalue
		} else if p.take('R') {
			q |= isLvalue
		}
		if state != nil {
			state.flags = state.flags&hasThis | q
		}
	}
	var n *node
	for p.more('E') {
		if state != nil {
			state.arguments = false
		}
		next, substituted := p.prefix(state, n)
		n = next
		if substituted {
			continue
		}
		p.subs = append(p.subs, n)
		p.take('M') // old manglings of lambdas mark a data member with it
	}
	if n == nil || len(p.subs) == 0 {
		return p.fail()
	}
	p.subs = p.subs[:len(p.subs)-1] // the complete name is a candidate only as a type, which typ adds
	return n
}

// prefix reads the next part of a nested name. n is the scope before it, or nil at the beginning.
func (p *parser) prefix(state *nameState, n *node) (next *node, substituted bool) {
	switch c := p.peek(); {
	case c == 'T':
		if n != nil {
			return p.fail(), false
		}
		return p.templateParam(), false
	case c == 'I':
		if n == nil {
			return p.fail(), false
		}
		args := p.arguments(state)
		if n.kind == instance {
			return p.fail(), false
		}
		return p.make(node{kind: instance, a: n, b: args}), false
	case c == 'D' && (p.peekAt(1) == 't' || p.peekAt(1) == 'T'):
		if n != nil {
			return p.fail(), false
		}
		return p.decltype(), false
	case c == 'S':
		s := p.prefixSubstitution()
		if s.kind == module {
			return p.unqualifiedName(state, n, s), false
		}
		if n != nil {
			return p.fail(), false
		}
		return s, true
	}
	return p.unqualifiedName(state, n, nil), false
}

func (p *parser) prefixSubstitution() *node {
	if p.takeString("St") {
		return p.word("std")
	}
	return p.substitution()
}

// unqualifiedName reads one part of a name, in a scope and a module m; both may be nil.
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

// moduleName reads the parts of a module name after m. It returns m if there are none.
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

// tags reads the ABI tags of n. It returns n if there are none.
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

// structuredBinding reads the names of a structured binding.
func (p *parser) structuredBinding() *node {
	p.takeString("DC")
	mark := len(p.pending)
	for {
		p.pending = append(p.pending, p.sourceName())
		if !p.more('E') {
			break
		}
	}
	return p.make(node{kind: structuredBinding, list: p.popList(mark)})
}

// constructorName reads the kind of a constructor or destructor of scope. It also returns the scope: a standard abbreviation is
// expanded in it.
func (p *parser) constructorName(scope *node, state *nameState) (n, in *node) {
	if scope.kind == standard {
		scope = p.make(node{kind: expanded, index: scope.index})
	}
	result := node{kind: constructor, a: scope}
	c := p.peek()
	p.pos++
	inherited := c == 'C' && p.take('I')
	digit := p.peek()
	switch {
	case c == 'C' && digit >= '1' && digit <= '5':
	case c == 'D' && digit >= '0' && digit <= '5' && digit != '3':
		result.flags = flagDestructor
	default:
		return p.fail(), scope
	}
	p.pos++
	if state != nil {
		state.untyped = true
	}
	switch {
	case !inherited:
	case !p.llvm && p.substitutionAlone(): // gcc writes a type, so that it may be one that was there before
		p.substitution()
	default:
		p.name(state) // the base class that declares the constructor
	}
	return p.make(result), scope
}

// substitutionAlone reports whether a numbered substitution without template arguments is next.
func (p *parser) substitutionAlone() bool {
	if p.peek() != 'S' {
		return false
	}
	for i := 1; ; i++ {
		switch c := p.peekAt(i); {
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z':
		default:
			return c == '_' && p.peekAt(i+1) != 'I'
		}
	}
}

// operatorName reads the name of an operator function.
func (p *parser) operatorName(state *nameState) *node {
	if op := p.operator(); op != nil {
		switch {
		case op.kind == opCast:
			return p.conversionName(state)
		case op.kind >= opUnnameable, op.kind == opMember && !op.flag:
			return p.fail()
		}
		return p.word(op.name)
	}
	if p.takeString("li") {
		return p.make(node{kind: userLiteral, a: p.sourceName()})
	}
	if p.take('v') && isDigit(p.peek()) { // a vendor's operator; the digit is its number of operands
		p.pos++
		return p.make(node{kind: conversion, a: p.sourceName()})
	}
	return p.fail()
}

// conversionName reads the type of a conversion operator. It may refer to template arguments that follow.
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

// unresolvedName reads a dependent name, ABI §5.1.6.1: one without a scope, in a scope of names (`sr1A1BE1x`), in a type
// (`srT_1x`), or in a scope nested in a type (`srNT_1BE1x`).
func (p *parser) unresolvedName(global bool) *node {
	var scope *node
	switch {
	case !p.llvm && p.oldScope():
		p.takeString("sr")
		scope = p.typ()
	case p.takeString("srN"):
		scope = p.withArguments(p.unresolvedType())
		for p.more('E') {
			scope = p.make(node{kind: nested, a: scope, b: p.simpleID()})
		}
	case !p.takeString("sr"):
		n := p.baseUnresolved()
		if global {
			return p.make(node{kind: globalName, a: n})
		}
		return n
	case isDigit(p.peek()):
		scope = p.simpleID()
		if global {
			scope = p.make(node{kind: globalName, a: scope})
		}
		for p.more('E') {
			scope = p.make(node{kind: nested, a: scope, b: p.simpleID()})
		}
	default:
		scope = p.withArguments(p.unresolvedType())
	}
	return p.make(node{kind: nested, a: scope, b: p.baseUnresolved()})
}

// oldScope reports whether an unresolved name of gcc's form is next: its scope is any type, which adds substitution candidates,
// as in `srSt7is_sameI…` and `srNS_7is_sameI…`.
func (p *parser) oldScope() bool {
	return p.hasPrefix("srSt") || p.hasPrefix("srNS")
}

// withArguments reads the optional template arguments of n.
func (p *parser) withArguments(n *node) *node {
	if p.peek() != 'I' {
		return n
	}
	return p.make(node{kind: instance, a: n, b: p.arguments(nil)})
}

// simpleID reads an identifier with optional template arguments.
func (p *parser) simpleID() *node { return p.withArguments(p.sourceName()) }

// unresolvedType reads the type in the scope of an unresolved name.
func (p *parser) unresolvedType() *node {
	var n *node
	switch p.peek() {
	case 'T':
		n = p.templateParam()
	case 'D':
		n = p.decltype()
	default:
		return p.substitution()
	}
	p.subs = append(p.subs, n)
	return n
}

// baseUnresolved reads the last part of an unresolved name: an identifier, a destructor or an operator.
func (p *parser) baseUnresolved() *node {
	if isDigit(p.peek()) {
		return p.simpleID()
	}
	if p.takeString("dn") {
		n := node{kind: destructor}
		if isDigit(p.peek()) {
			n.a = p.simpleID()
		} else {
			n.a = p.unresolvedType()
		}
		return p.make(n)
	}
	p.takeString("on")
	return p.withArguments(p.operatorName(nil))
}

// standards are the abbreviations of the standard library, ABI §5.1.8: the names of the constructors of the abbreviation
// and of its expanded form, the expanded form, and the abbreviation's readable form.
var standards = [...]struct {
	letter                   byte
	name, base, full, string string
}{
	{'a', "allocator", "allocator", "std::allocator", "std::allocator"},
	{'b', "basic_string", "basic_string", "std::basic_string", "std::basic_string"},
	{'s', "string", "basic_string", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
	{'i', "istream", "basic_istream", "std::basic_istream<char, std::char_traits<char>>", "std::istream"},
	{'o', "ostream", "basic_ostream", "std::basic_ostream<char, std::char_traits<char>>", "std::ostream"},
	{'d', "iostream", "basic_iostream", "std::basic_iostream<char, std::char_traits<char>>", "std::iostream"},
}

// substitution reads a reference to an earlier part of the name, or a standard abbreviation. An abbreviation with ABI tags
// becomes a candidate itself.
func (p *parser) substitution() *node {
	if !p.take('S') {
		return p.fail()
	}
	if c := p.peek(); c >= 'a' && c <= 'z' {
		for i := range standards {
			if standards[i].letter != c {
				continue
			}
			p.pos++
			n := p.make(node{kind: standard, index: int32(i)})
			if withTags := p.tags(n); withTags != n {
				p.subs = append(p.subs, withTags)
				return withTags
			}
			return n
		}
		return p.fail()
	}
	index := uint64(0)
	if !p.take('_') {
		n, ok := p.seqID()
		if !ok || !p.take('_') {
			return p.fail()
		}
		index = n + 1
	}
	if index >= uint64(len(p.subs)) {
		return p.fail()
	}
	n := p.subs[index]
	if n.params && !p.numbered {
		p.rebindings++
		if n = p.rebind(n); p.used > maxNodes {
			return p.fail()
		}
	}
	return n
}
