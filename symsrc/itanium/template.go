package itanium

// level is the arguments of one template, or the parameters that a lambda declares. A nil one is a lambda's with nothing but
// `auto`.
type level []*node

// scopes are the templates whose parameters may be named: `T_` and `TL0__` by their level. llvm keeps the arguments of the
// innermost template of an encoding's name, outer, and forgets those of the ones before it.
type scopes struct {
	levels []*level
	outer  level
}

// openScopes begins anew, without any template in scope. What it gives belongs into closeScopes.
func (p *parser) openScopes() scopes {
	outside := p.scopes
	// The same memory is used on, behind what is kept.
	p.scopes.levels = outside.levels[len(outside.levels):]
	p.scopes.outer = outside.outer[len(outside.outer):]
	return outside
}

func (p *parser) closeScopes(outside scopes) { p.scopes = outside }

// arguments reads template arguments. Those of the name of an encoding are what template parameters refer to from now on.
func (p *parser) arguments(named bool) *node {
	if !p.take('I') {
		return p.fail()
	}
	if named {
		p.scopes.levels = append(p.scopes.levels[:0], &p.scopes.outer)
		p.scopes.outer = p.scopes.outer[:0]
	}
	mark := len(p.found)
	for p.more('E') {
		arg := p.argument()
		p.found = append(p.found, arg)
		if named {
			switch arg.kind {
			case argumentPack:
				arg = p.make(node{kind: pack, list: arg.list})
			case declared: // of packs too, whose elements are not told apart then
				arg = arg.a
			}
			p.scopes.outer = append(p.scopes.outer, arg)
		}
		if p.take('Q') {
			p.constraint() // which llvm does not write
			if !p.take('E') {
				return p.fail()
			}
			break
		}
	}
	return p.make(node{kind: arguments, list: p.since(mark)})
}

// argument reads a template argument.
func (p *parser) argument() *node {
	switch p.peek() {
	case 'X':
		p.pos++
		n := p.expression()
		if !p.take('E') {
			return p.fail()
		}
		return n
	case 'J':
		p.pos++
		mark := len(p.found)
		for p.more('E') {
			p.found = append(p.found, p.argument())
		}
		return p.make(node{kind: argumentPack, list: p.since(mark)})
	case 'L':
		if p.peekAt(1) != 'Z' {
			return p.literal()
		}
		p.pos += 2 // clang's form of a function
		n := p.encoding()
		if !p.take('E') {
			return p.fail()
		}
		return n
	case 'T':
		if p.isParamDecl() {
			p.paramDecl(nil) // which llvm does not write
			return p.make(node{kind: declared, a: p.argument()})
		}
	}
	return p.typ()
}

// templateParam reads the number of a template parameter and gives its argument.
func (p *parser) templateParam() *node {
	from := p.pos
	if !p.take('T') {
		return p.fail()
	}
	var depth, index uint64
	var ok bool
	if p.take('L') {
		if depth, ok = p.integer(); !ok || !p.take('_') {
			return p.fail()
		}
		depth++
	}
	if !p.take('_') {
		if index, ok = p.integer(); !ok || !p.take('_') {
			return p.fail()
		}
		index++
	}
	if p.numbered {
		return p.word(p.s[from : p.pos-1])
	}
	if p.permitForward && depth == 0 {
		n := p.make(node{kind: forward, index: int32(min(index, maxName))})
		p.forwards = append(p.forwards, n)
		return n
	}
	levels := p.scopes.levels
	if depth < uint64(len(levels)) && levels[depth] != nil && index < uint64(len(*levels[depth])) {
		return (*levels[depth])[index]
	}
	if p.lambdaLevel >= 0 && uint64(p.lambdaLevel) == depth && depth <= uint64(len(levels)) {
		if depth == uint64(len(levels)) {
			p.scopes.levels = append(levels, nil)
		}
		return p.word("auto")
	}
	return p.fail()
}

// resolveForwards finds the arguments of the forward references in a function's name, now that they have been read.
func (p *parser) resolveForwards(state *nameState) {
	for _, n := range p.forwards[state.forwards:] {
		levels := p.scopes.levels
		if len(levels) == 0 || levels[0] == nil || int(n.index) >= len(*levels[0]) {
			p.fail()
			return
		}
		n.a = (*levels[0])[n.index]
	}
	p.forwards = p.forwards[:state.forwards]
}
