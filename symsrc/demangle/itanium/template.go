package itanium

import "strconv"

// level is the arguments of one template, or the parameters declared by a lambda. A nil *level is that of a lambda with only
// `auto` parameters.
type level []*node

// scopes are the templates whose parameters are in scope, by level: `T_` and `TL0__` refer to the levels 0 and 1. outer holds the
// arguments of the encoding; in llvm these are the arguments of the last template in its name.
type scopes struct {
	levels []*level
	outer  level
}

// openScopes begins a scope without templates. It returns the enclosing one, which is the argument of closeScopes.
func (p *parser) openScopes() scopes {
	outside := p.scopes
	// The memory after the elements in use is shared with the enclosing scope.
	p.scopes.levels = outside.levels[len(outside.levels):]
	p.scopes.outer = outside.outer[len(outside.outer):]
	return outside
}

func (p *parser) closeScopes(outside scopes) { p.scopes = outside }

// arguments reads template arguments. If state is not nil, they belong to the name of an encoding: template parameters refer to
// them in the rest of the encoding (style LLVM) or in its signature (style Standard).
func (p *parser) arguments(state *nameState) *node {
	if !p.take('I') {
		return p.fail()
	}
	inScope := p.llvm && state != nil
	if inScope {
		p.scopes.levels = append(p.scopes.levels[:0], &p.scopes.outer)
		p.scopes.outer = p.scopes.outer[:0]
	}
	mark := len(p.pending)
	asWritten := true // each parameter is bound to the argument as it is written
	for p.more('E') {
		var arg *node
		if !p.llvm && p.isParamDecl() {
			arg = p.declaredArgument(mark)
		} else {
			arg = p.argument()
		}
		p.pending = append(p.pending, arg)
		if inScope {
			p.scopes.outer = append(p.scopes.outer, p.binding(arg))
		}
		asWritten = asWritten && arg.kind != argumentPack && arg.kind != declared
		if p.take('Q') {
			p.constraint() // which llvm does not print
			if !p.take('E') {
				return p.fail()
			}
			break
		}
	}
	list := p.popList(mark)
	if state != nil {
		state.arguments = true
		if state.own = list; !asWritten && !inScope {
			for _, arg := range list {
				p.pending = append(p.pending, p.binding(arg))
			}
			state.own = p.popList(mark)
		}
	}
	return p.make(node{kind: arguments, list: list})
}

// declaredArgument reads an argument with the declaration of its parameter, which may refer to the parameters before it. Their
// arguments are p.pending[mark:].
func (p *parser) declaredArgument(mark int) *node {
	own := make(level, 0, len(p.pending)-mark)
	for _, arg := range p.pending[mark:] {
		own = append(own, p.binding(arg))
	}
	outside := p.openScopes()
	p.scopes.levels = append(p.scopes.levels, &own)
	p.paramDecl(nil) // which is not printed
	p.closeScopes(outside)
	return p.make(node{kind: declared, a: p.argument()})
}

// binding returns the node that a template parameter with the argument arg refers to.
func (p *parser) binding(arg *node) *node {
	switch arg.kind {
	case argumentPack:
		return p.make(node{kind: pack, list: arg.list})
	case declared:
		if arg.a.kind == argumentPack && !p.llvm { // llvm does not expand such a pack
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
		if p.peek() == 'I' && p.llvm { // a pack as mangled by gcc before version 4.7
			break
		}
		p.pos++
		mark := len(p.pending)
		for p.more('E') {
			p.pending = append(p.pending, p.argument())
		}
		return p.make(node{kind: argumentPack, list: p.popList(mark)})
	case 'L':
		if p.peekAt(1) != 'Z' {
			return p.literal()
		}
		p.pos += 2 // clang's form of a function argument
		n := p.encoding()
		if !p.take('E') {
			return p.fail()
		}
		return n
	case 'T':
		if p.isParamDecl() {
			p.paramDecl(nil) // which llvm does not print
			return p.make(node{kind: declared, a: p.argument()})
		}
	}
	return p.typ()
}

// templateParam reads the level and index of a template parameter and returns its argument.
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
		n := p.word(p.s[from : p.pos-1])
		if !p.llvm && depth < maxName && index < maxName { // a substitution for it may be outside of the constraint, where it has an argument
			p.sawParam = true
			n = p.make(node{kind: forward, level: int16(depth), index: int32(index), a: n, prec: n.prec, params: true})
		}
		return n
	}
	if p.permitForward && depth == 0 {
		p.sawParam = true
		n := p.make(node{kind: forward, index: int32(min(index, maxName)), params: true})
		p.forwards = append(p.forwards, n)
		return n
	}
	depth, index = min(depth, maxName), min(index, maxName)
	arg := p.boundArgument(depth, index)
	switch {
	case arg == nil:
		return p.fail()
	case p.llvm:
		return arg
	}
	p.sawParam = true
	return p.make(node{kind: forward, level: int16(depth), index: int32(index), a: arg, prec: arg.prec, params: true})
}

// boundArgument returns the argument of a template parameter, or nil if it has none. That of a lambda's parameter is `auto`.
func (p *parser) boundArgument(depth, index uint64) *node {
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

// rebind returns n with its template parameters bound to their arguments in the current scope. A substitution stands for the
// mangled text that it refers to, and the same `T_` has different meanings in a lambda and in the enclosing function. llvm
// keeps the first binding.
func (p *parser) rebind(n *node) *node {
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
		to = p.rebindParam(n)
	} else {
		next := *n
		next.a, next.b, next.c = p.rebind(n.a), p.rebind(n.b), p.rebind(n.c)
		same := next.a == n.a && next.b == n.b && next.c == n.c
		mark := len(p.pending)
		for _, of := range n.list {
			again := p.rebind(of)
			same = same && again == of
			p.pending = append(p.pending, again)
		}
		if same {
			p.pending = p.pending[:mark]
		} else {
			next.list = p.popList(mark)
			to = p.make(next)
		}
	}
	n.run, n.copy = p.rebindings, to
	return to
}

// rebindParam is rebind for a template parameter.
func (p *parser) rebindParam(n *node) *node {
	if n.a == nil {
		return n
	}
	declared := p.lambdaLevel >= 0 && p.lambdaLevel < len(p.scopes.levels) && int(n.level) == p.lambdaLevel
	arg := p.boundArgument(uint64(n.level), uint64(n.index))
	switch {
	case p.lambdaLevel >= 0 && !declared:
		arg = p.word("auto")
	case arg == nil || arg == n.a:
		return n
	}
	return p.make(node{kind: forward, level: n.level, index: n.index, a: arg, prec: arg.prec, params: true})
}

// resolveForwards sets the arguments of the forward references in a function's name, after the name has been read.
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

// argumentOf returns the argument of n if n is a template parameter with a known argument; otherwise n.
func argumentOf(n *node) *node {
	const maxSteps = 16 // the type of a conversion operator may refer to itself
	for range maxSteps {
		if n.kind != forward || n.a == nil {
			break
		}
		n = n.a
	}
	return n
}

// unnamedType reads an unnamed type or a lambda, with its number in its scope.
func (p *parser) unnamedType(state *nameState) *node {
	if p.llvm && state != nil {
		p.scopes.levels = p.scopes.levels[:0]
	}
	switch {
	case p.takeString("Ut"):
		return p.numberedType(node{kind: unnamed})
	case p.takeString("Ub"):
		return p.numberedType(node{kind: word, text: "'block-literal'"})
	case p.takeString("Ul"):
		return p.lambda()
	}
	return p.fail()
}

// numberedType reads the number at the end of an unnamed type.
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

// lambda reads the template parameters and the parameters of a lambda. It opens a level of template parameters: the ones that
// it declares, or invented ones, which are printed as `auto`.
func (p *parser) lambda() *node {
	outer, depth := p.lambdaLevel, len(p.scopes.levels)
	p.lambdaLevel = depth
	declared := new(level)
	p.scopes.levels = append(p.scopes.levels, declared)
	n := node{kind: closure}
	mark := len(p.pending)
	for p.isParamDecl() && !p.bad {
		p.pending = append(p.pending, p.paramDecl(declared))
	}
	params := p.popList(mark)
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
			p.pending = append(p.pending, p.typ())
			if c := p.peek(); c == 'E' || c == 'Q' || p.bad {
				break
			}
		}
		n.list = p.popList(mark)
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

// constraint reads an expression in which the parameters of all enclosing templates are in scope. llvm does not resolve them
// and prints them as they are mangled.
func (p *parser) constraint() *node {
	numbered := p.numbered
	p.numbered = true
	n := p.expression()
	p.numbered = numbered
	return n
}

// numberedName reads the name of a concept, in whose arguments template parameters are not resolved either.
func (p *parser) numberedName() *node {
	numbered := p.numbered
	p.numbered = true
	n := p.name(nil)
	p.numbered = numbered
	return n
}

// isParamDecl reports whether the declaration of a template parameter is next.
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

// invent returns an invented name for a template parameter, because declarations are mangled without names. It appends the name
// to in unless in is nil.
func (p *parser) invent(in *level, paramKind int) *node {
	name := [...]string{"$T", "$N", "$TT"}[paramKind]
	if count := p.invented[paramKind]; count > 0 {
		name += strconv.Itoa(count - 1)
	}
	p.invented[paramKind]++
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

// templateDecl reads the parameters of a template template parameter.
func (p *parser) templateDecl(name *node) *node {
	n := node{kind: templateDecl, a: name}
	depth, mark := len(p.scopes.levels), len(p.pending)
	own := new(level)
	p.scopes.levels = append(p.scopes.levels, own)
	for p.more('E') {
		if !p.isParamDecl() {
			return p.fail()
		}
		p.pending = append(p.pending, p.paramDecl(own))
		if p.take('Q') {
			n.b = p.constraint()
			if !p.take('E') {
				return p.fail()
			}
			break
		}
	}
	n.list = p.popList(mark)
	p.scopes.levels = p.scopes.levels[:min(depth, len(p.scopes.levels))]
	return p.make(n)
}
