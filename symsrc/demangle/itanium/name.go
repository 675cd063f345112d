package itanium

// name reads the name of anything, with its scope and template arguments. state is nil for names that are no function's of
// an encoding; then the arguments are not those that template parameters refer to.
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

// localName reads what is declared in a function, or a string in it: the function's encoding and a name.
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

// discriminator skips the number of an entity among those of its name in a function: `_1`, `__12_`, or digits at the end.
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

// unscopedName reads a name without scope, or in std. A substitution alone is one only where that is allowed.
func (p *parser) unscopedName(state *nameState, allowed bool) (n *node, substituted bool) {
	var scope, m *node
	if p.takes("St") {
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

// nestedName reads a name with its scopes, and the qualifiers of a member function.
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
		p.take('M') // of a data member, in old manglings of lambdas
	}
	if n == nil || len(p.subs) == 0 {
		return p.fail()
	}
	p.subs = p.subs[:len(p.subs)-1] // the whole is a candidate only as a type
	return n
}

// prefix reads one more part of a nested name after the scope n, which is nil at its begin.
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
	if p.takes("St") {
		return p.word("std")
	}
	return p.substitution()
}

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

// unresolvedName reads a name that depends on template parameters, ABI §5.1.6.1: one without scope, in a scope of names
// (`sr1A1BE1x`), of a type (`srT_1x`), or of names below a type (`srNT_1BE1x`).
func (p *parser) unresolvedName(global bool) *node {
	var scope *node
	switch {
	case !p.llvm && p.oldScope():
		p.takes("sr")
		scope = p.typ()
	case p.takes("srN"):
		scope = p.withArguments(p.unresolvedType())
		for p.more('E') {
			scope = p.make(node{kind: nested, a: scope, b: p.simpleID()})
		}
	case !p.takes("sr"):
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

// oldScope reports whether an unresolved name comes whose scope is any type with its substitution candidates, as gcc has it:
// `srSt7is_sameI…`, `srNS_7is_sameI…`.
func (p *parser) oldScope() bool {
	return p.next("srSt") || p.next("srNS")
}

// withArguments reads the template arguments of n, if it has any.
func (p *parser) withArguments(n *node) *node {
	if p.peek() != 'I' {
		return n
	}
	return p.make(node{kind: instance, a: n, b: p.arguments(nil)})
}

// simpleID reads an identifier with its template arguments.
func (p *parser) simpleID() *node { return p.withArguments(p.sourceName()) }

// unresolvedType reads a type that has members.
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
	if p.takes("dn") {
		n := node{kind: destructor}
		if isDigit(p.peek()) {
			n.a = p.simpleID()
		} else {
			n.a = p.unresolvedType()
		}
		return p.make(n)
	}
	p.takes("on")
	return p.withArguments(p.operatorName(nil))
}

// standards are the abbreviations of the standard library: what they are called, whose constructors they have, and what
// they stand for.
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

// substitution reads a reference to what was there before, or a standard abbreviation. The latter with ABI tags is a
// candidate itself.
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
		if n = p.rebound(n); p.used > maxNodes {
			return p.fail()
		}
	}
	return n
}
