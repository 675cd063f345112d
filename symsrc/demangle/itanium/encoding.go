package itanium

// nameState is what a function's encoding learns from its name.
type nameState struct {
	flags flags
	// untyped is set for constructors, destructors and conversions, whose templates encode no return type.
	untyped bool
	// arguments is set where the name ends with template arguments.
	arguments bool
	// own are the arguments that end the name, which its signature refers to.
	own level
	// forwards is how many forward references there were before.
	forwards int
}

// encoding reads a function with its parameters, a variable, or a special name. The template parameters of what stands
// around it do not count in it.
func (p *parser) encoding() *node {
	outside := p.openScopes()
	n := p.encodingAlone()
	p.closeScopes(outside)
	return n
}

func (p *parser) encodingAlone() *node {
	if c := p.peek(); c == 'G' || c == 'T' {
		return p.specialName()
	}
	state := nameState{forwards: len(p.forwards)}
	name := p.name(&state)
	p.resolveForwards(&state)
	if !p.llvm && state.arguments {
		p.scopes.outer = state.own
		p.scopes.levels = append(p.scopes.levels[:0], &p.scopes.outer)
	}
	if p.bad || p.encodingEnds() {
		return name
	}
	f := node{kind: function, b: name}
	var t node
	if p.takes("Ua9enable_ifI") {
		mark := len(p.found)
		for p.more('E') {
			p.found = append(p.found, p.argument())
		}
		t.kind, t.flags, t.list = tail, flagConditions, p.since(mark)
	}
	if state.arguments && !state.untyped {
		f.a = p.typ()
	}
	if !p.noParameters() {
		mark := len(p.found)
		for {
			t := p.typ()
			if state.flags&hasThis != 0 && len(p.found) == mark {
				t = p.make(node{kind: object, a: t})
			}
			p.found = append(p.found, t)
			if p.encodingEnds() || p.peek() == 'Q' {
				break
			}
		}
		f.list = p.since(mark)
	}
	if p.take('Q') {
		t.kind, t.a = tail, p.constraint()
	}
	if t.kind == tail {
		f.c = p.make(t)
	}
	f.flags = state.flags
	return p.make(f)
}

// noParameters takes a `v` in place of parameters.
func (p *parser) noParameters() bool {
	if !p.take('v') {
		return false
	}
	if p.llvm || p.encodingEnds() || p.peek() == 'Q' {
		return true
	}
	p.pos-- // a parameter, in made-up names
	return false
}

// encodingEnds reports whether what comes cannot begin a type.
func (p *parser) encodingEnds() bool {
	c := p.peek()
	return p.left() == 0 || c == 'E' || c == '.' || c == '_'
}

// specialName reads the name of what the compiler makes: tables, thunks, guards.
func (p *parser) specialName() *node {
	first, second := p.peek(), p.peekAt(1)
	p.pos = min(p.pos+2, len(p.s))
	of := func(text string, n *node) *node { return p.make(node{kind: special, a: n, text: text}) }
	if first == 'G' {
		switch second {
		case 'V':
			return of("guard variable for ", p.name(nil))
		case 'R':
			n := p.name(nil)
			_, numbered := p.seqID()
			if !p.take('_') && numbered {
				return p.fail()
			}
			return of("reference temporary for ", n)
		case 'A':
			if !p.llvm {
				return of("hidden alias for ", p.encoding())
			}
		case 'T':
			if !p.llvm {
				return p.transactional()
			}
		case 'I':
			m := p.moduleName(nil)
			if m == nil {
				return p.fail()
			}
			return of("initializer for module ", m)
		}
		return p.fail()
	}
	switch second {
	case 'A':
		return of("template parameter object for ", p.argument())
	case 'V':
		return of("vtable for ", p.typ())
	case 'T':
		return of("VTT for ", p.typ())
	case 'I':
		return of("typeinfo for ", p.typ())
	case 'S':
		return of("typeinfo name for ", p.typ())
	case 'W':
		return of("thread-local wrapper routine for ", p.name(nil))
	case 'H':
		return of("thread-local initialization routine for ", p.name(nil))
	case 'C':
		return p.constructionVtable()
	case 'F', 'J':
		if !p.llvm {
			if second == 'F' {
				return of("typeinfo fn for ", p.typ())
			}
			return of("java Class for ", p.typ())
		}
	case 'c':
		ofThis := p.callOffset()
		if ofResult := p.callOffset(); !ofThis || !ofResult {
			return p.fail()
		}
		return of("covariant return thunk to ", p.encoding())
	}
	p.pos--
	virtual := p.peek() == 'v'
	if !p.callOffset() {
		return p.fail()
	}
	if virtual {
		return of("virtual thunk to ", p.encoding())
	}
	return of("non-virtual thunk to ", p.encoding())
}

// transactional reads the clone of a function that gcc makes for transactions, which llvm does not know.
func (p *parser) transactional() *node {
	text := "transaction clone for "
	if p.take('n') {
		text = "non-transaction clone for "
	} else if !p.take('t') {
		return p.fail()
	}
	return p.make(node{kind: special, a: p.encoding(), text: text})
}

// constructionVtable reads a class, an offset, and the base in whose layout the table is.
func (p *parser) constructionVtable() *node {
	a := p.typ()
	if p.number(true) == "" || !p.take('_') {
		return p.fail()
	}
	return p.make(node{kind: inVtable, a: p.typ(), b: a})
}

// callOffset reads how a thunk adjusts this.
func (p *parser) callOffset() bool {
	if p.take('h') {
		return p.number(true) != "" && p.take('_')
	}
	return p.take('v') && p.number(true) != "" && p.take('_') && p.number(true) != "" && p.take('_')
}
