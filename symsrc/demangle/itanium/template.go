package itanium

import "strconv"

// level is the arguments of one template, or the parameters that a lambda declares. A nil one is a lambda's with nothing but
// `auto`.
type level []*node

// scopes are the templates whose parameters may be named: `T_` and `TL0__` by their level. llvm keeps the arguments of the
// innermost template of an encoding's name, outer, and forgets those of the ones before it.
type scopes struct {
	levels []*level
	outer  level
}

// openScopes begins a scope without any template and returns the one around it, for closeScopes.
func (p *parser) openScopes() scopes {
	outside := p.scopes
	// The same memory serves on, after what is kept.
	p.scopes.levels = outside.levels[len(outside.levels):]
	p.scopes.outer = outside.outer[len(outside.outer):]
	return outside
}

func (p *parser) closeScopes(outside scopes) { p.scopes = outside }

// arguments reads template arguments. With state they are those of the name of an encoding, to which template parameters
// refer from now on (llvm), or in the encoding's signature.
func (p *parser) arguments(state *nameState) *node {
	if !p.take('I') {
		return p.fail()
	}
	named := p.llvm && state != nil
	if named {
		p.scopes.levels = append(p.scopes.levels[:0], &p.scopes.outer)
		p.scopes.outer = p.scopes.outer[:0]
	}
	mark := len(p.found)
	bound := true // to the very arguments that are written
	for p.more('E') {
		var arg *node
		if !p.llvm && p.isParamDecl() {
			arg = p.declaredArgument(mark)
		} else {
			arg = p.argument()
		}
		p.found = append(p.found, arg)
		if named {
			p.scopes.outer = append(p.scopes.outer, p.binding(arg))
		}
		bound = bound && arg.kind != argumentPack && arg.kind != declared
		if p.take('Q') {
			p.constraint() // which llvm does not write
			if !p.take('E') {
				return p.fail()
			}
			break
		}
	}
	list := p.since(mark)
	if state != nil {
		state.arguments = true
		if state.own = list; !bound && !named {
			for _, arg := range list {
				p.found = append(p.found, p.binding(arg))
			}
			state.own = p.since(mark)
		}
	}
	return p.make(node{kind: arguments, list: list})
}

// declaredArgument reads an argument with the declaration of its parameter, which may name the parameters before it. The
// arguments of these have been found from mark on.
func (p *parser) declaredArgument(mark int) *node {
	own := make(level, 0, len(p.found)-mark)
	for _, arg := range p.found[mark:] {
		own = append(own, p.binding(arg))
	}
	outside := p.openScopes()
	p.scopes.levels = append(p.scopes.levels, &own)
	p.paramDecl(nil) // which is not written
	p.closeScopes(outside)
	return p.make(node{kind: declared, a: p.argument()})
}

// binding returns what a template parameter stands for whose argument is arg.
func (p *parser) binding(arg *node) *node {
	switch arg.kind {
	case argumentPack:
		return p.make(node{kind: pack, list: arg.list})
	case declared:
		if arg.a.kind == argumentPack && !p.llvm { // llvm does not tell the elements of such a pack apart
			return p.make(node{kind: pack, list: arg.a.list})
		}
		return arg.a
	}
	return arg
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
	case 'I', 'J':
		if p.peek() == 'I' && p.llvm { // gcc's packs before version 4.7
			break
		}
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

// templateParam reads the number of a template parameter and returns its argument.
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
		p.sawParam = true
		n := p.make(node{kind: forward, index: int32(min(index, maxName)), params: true})
		p.forwards = append(p.forwards, n)
		return n
	}
	depth, index = min(depth, maxName), min(index, maxName)
	arg := p.bound(depth, index)
	switch {
	case arg == nil:
		return p.fail()
	case p.llvm:
		return arg
	}
	p.sawParam = true
	return p.make(node{kind: forward, level: int16(depth), index: int32(index), a: arg, prec: arg.prec, params: true})
}

// bound returns the argument of a template parameter, nil if it has none. That of a lambda is `auto`.
func (p *parser) bound(depth, index uint64) *node {
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
	return nil
}

// rebound returns n with its template parameters bound to the arguments that they have in the current scope. A substitution
// stands for the text that it refers to, and the same `T_` is one thing in a lambda and another in the function around it.
// llvm keeps the first binding.
func (p *parser) rebound(n *node) *node {
	if n == nil || !n.params || p.bad {
		return n
	}
	if n.run == p.rebindings {
		return n.copy
	}
	if p.visited++; p.visited > maxVisits {
		return p.fail()
	}
	to := n
	if n.kind == forward {
		to = p.reboundParam(n)
	} else {
		next := *n
		next.a, next.b, next.c = p.rebound(n.a), p.rebound(n.b), p.rebound(n.c)
		same := next.a == n.a && next.b == n.b && next.c == n.c
		mark := len(p.found)
		for _, of := range n.list {
			again := p.rebound(of)
			same = same && again == of
			p.found = append(p.found, again)
		}
		if same {
			p.found = p.found[:mark]
		} else {
			next.list = p.since(mark)
			to = p.make(next)
		}
	}
	n.run, n.copy = p.rebindings, to
	return to
}

func (p *parser) reboundParam(n *node) *node {
	if n.a == nil {
		return n
	}
	declared := p.lambdaLevel >= 0 && p.lambdaLevel < len(p.scopes.levels) && int(n.level) == p.lambdaLevel
	arg := p.bound(uint64(n.level), uint64(n.index))
	switch {
	case p.lambdaLevel >= 0 && !declared:
		arg = p.word("auto")
	case arg == nil || arg == n.a:
		return n
	}
	return p.make(node{kind: forward, level: n.level, index: n.index, a: arg, prec: arg.prec, params: true})
}

// resolveForwards finds the arguments of the forward references in a function's name, now that they have been read.
func (p *parser) resolveForwards(state *nameState) {
	for _, n := range p.forwards[state.forwards:] {
		args := state.own
		if p.llvm {
			if args = nil; len(p.scopes.levels) > 0 && p.scopes.levels[0] != nil {
				args = *p.scopes.levels[0]
			}
		}
		if int(n.index) >= len(args) {
			p.fail()
			return
		}
		n.a = args[n.index]
	}
	p.forwards = p.forwards[:state.forwards]
}

// argumentOf returns what n stands for, if it is a template parameter whose argument is known.
func argumentOf(n *node) *node {
	const longest = 16 // conversion operators may refer to themselves
	for range longest {
		if n.kind != forward || n.a == nil {
			break
		}
		n = n.a
	}
	return n
}

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
