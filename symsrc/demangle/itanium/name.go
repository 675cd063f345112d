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
