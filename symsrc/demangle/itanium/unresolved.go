package itanium

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
