package itanium

import "strconv"

// unnamedType reads an unnamed type or a lambda, with its number among those of its scope.
func (p *parser) unnamedType(state *nameState) *node {
	if p.llvm && state != nil {
		p.scopes.levels = p.scopes.levels[:0]
	}
	switch {
	case p.takes("Ut"):
		return p.numberedType(node{kind: unnamed})
	case p.takes("Ub"):
		return p.numberedType(node{kind: word, text: "'block-literal'"})
	case p.takes("Ul"):
		return p.lambda()
	}
	return p.fail()
}

// numberedType ends an unnamed type.
func (p *parser) numberedType(n node) *node {
	count := p.number(false)
	if !p.take('_') {
		return p.fail()
	}
	if n.kind != word {
		n.text = count
	}
	return p.make(n)
}

// lambda reads the template parameters and parameters of a lambda. It opens a level of template parameters: those that it
// declares, or `auto` ones.
func (p *parser) lambda() *node {
	outer, depth := p.lambdaLevel, len(p.scopes.levels)
	p.lambdaLevel = depth
	declared := new(level)
	p.scopes.levels = append(p.scopes.levels, declared)
	n := node{kind: closure}
	mark := len(p.found)
	for p.isParamDecl() && !p.bad {
		p.found = append(p.found, p.paramDecl(declared))
	}
	params := p.since(mark)
	if len(params) == 0 {
		p.scopes.levels = p.scopes.levels[:depth]
	}
	var constraint *node
	if p.take('Q') {
		constraint = p.constraint()
	}
	if len(params) > 0 || constraint != nil {
		n.a = p.make(node{kind: tail, list: params, a: constraint})
	}
	if !p.take('v') {
		for {
			p.found = append(p.found, p.typ())
			if c := p.peek(); c == 'E' || c == 'Q' || p.bad {
				break
			}
		}
		n.list = p.since(mark)
	}
	if p.take('Q') {
		n.b = p.constraint()
	}
	p.lambdaLevel = outer
	p.scopes.levels = p.scopes.levels[:min(depth, len(p.scopes.levels))]
	if !p.take('E') {
		return p.fail()
	}
	return p.numberedType(n)
}

// constraint reads an expression in which the parameters of all enclosing templates are in scope; llvm does not tell them
// apart and writes their numbers.
func (p *parser) constraint() *node {
	numbered := p.numbered
	p.numbered = true
	n := p.expression()
	p.numbered = numbered
	return n
}

// numberedName reads a concept, in whose arguments parameters are not told apart either.
func (p *parser) numberedName() *node {
	numbered := p.numbered
	p.numbered = true
	n := p.name(nil)
	p.numbered = numbered
	return n
}

// isParamDecl reports whether a declaration of a template parameter comes.
func (p *parser) isParamDecl() bool {
	if p.peek() != 'T' {
		return false
	}
	switch p.peekAt(1) {
	case 'y', 'p', 't', 'n', 'k':
		return true
	}
	return false
}

// invent names a template parameter, as its declaration has no name, and puts it among those of in, if that is not nil.
func (p *parser) invent(in *level, sort int) *node {
	name := [...]string{"$T", "$N", "$TT"}[sort]
	if count := p.invented[sort]; count > 0 {
		name += strconv.Itoa(count - 1)
	}
	p.invented[sort]++
	n := p.make(node{kind: invented, text: name})
	if in != nil {
		*in = append(*in, n)
	}
	return n
}

// paramDecl reads the declaration of a template parameter.
func (p *parser) paramDecl(in *level) *node {
	const aType, aValue, aTemplate = 0, 1, 2
	p.take('T')
	c := p.peek()
	p.pos++
	switch c {
	case 'y':
		return p.make(node{kind: typeDecl, a: p.invent(in, aType)})
	case 'k':
		concept := p.numberedName()
		return p.make(node{kind: conceptDecl, a: p.invent(in, aType), b: concept})
	case 'n':
		name := p.invent(in, aValue)
		return p.make(node{kind: valueDecl, a: name, b: p.typ()})
	case 't':
		return p.templateDecl(p.invent(in, aTemplate))
	case 'p':
		if !p.isParamDecl() {
			return p.fail()
		}
		return p.make(node{kind: packDecl, a: p.paramDecl(in)})
	}
	p.pos = len(p.s)
	return p.fail()
}

// templateDecl reads the parameters of a template that is a parameter itself.
func (p *parser) templateDecl(name *node) *node {
	n := node{kind: templateDecl, a: name}
	depth, mark := len(p.scopes.levels), len(p.found)
	own := new(level)
	p.scopes.levels = append(p.scopes.levels, own)
	for p.more('E') {
		if !p.isParamDecl() {
			return p.fail()
		}
		p.found = append(p.found, p.paramDecl(own))
		if p.take('Q') {
			n.b = p.constraint()
			if !p.take('E') {
				return p.fail()
			}
			break
		}
	}
	n.list = p.since(mark)
	p.scopes.levels = p.scopes.levels[:min(depth, len(p.scopes.levels))]
	return p.make(n)
}
