package itanium

// nameState is what the encoding of a function has to know about its name.
type nameState struct {
	flags flags
	// untyped is set for constructors, destructors and conversion operators, whose templates encode no return type.
	untyped bool
	// arguments is set if the name ends with template arguments.
	arguments bool
	// own are the template arguments at the end of the name. The signature refers to them.
	own level
	// forwards is the number of unresolved forward references before the name.
	forwards int
}

// encoding reads a function with its parameters, a variable, or a special name. The template parameters of enclosing
// encodings are not in scope.
func (p *parser) encoding() *node {
	outside := p.openScopes()
	n := p.encodingUnscoped()
	p.closeScopes(outside)
	return n
}

// encodingUnscoped is encoding in the current scope.
func (p *parser) encodingUnscoped() *node {
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
	if p.takeString("Ua9enable_ifI") {
		mark := len(p.pending)
		for p.more('E') {
			p.pending = append(p.pending, p.argument())
		}
		t.kind, t.flags, t.list = tail, flagConditions, p.popList(mark)
	}
	if state.arguments && !state.untyped {
		f.a = p.typ()
	}
	if !p.noParameters() {
		mark := len(p.pending)
		for {
			t := p.typ()
			if state.flags&hasThis != 0 && len(p.pending) == mark {
				t = p.make(node{kind: explicitObject, a: t})
			}
			p.pending = append(p.pending, t)
			if p.encodingEnds() || p.peek() == 'Q' {
				break
			}
		}
		f.list = p.popList(mark)
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

// noParameters consumes a `v` that stands for an empty parameter list and reports whether there was one.
func (p *parser) noParameters() bool {
	if !p.take('v') {
		return false
	}
	if p.llvm || p.encodingEnds() || p.peek() == 'Q' {
		return true
	}
	p.pos-- // more parameters follow, so it is a parameter of type void, which c++filt accepts
	return false
}

// encodingEnds reports whether the next byte cannot begin a type.
func (p *parser) encodingEnds() bool {
	c := p.peek()
	return p.remaining() == 0 || c == 'E' || c == '.' || c == '_'
}

// specialName reads the name of a compiler-generated entity, ABI §5.1.4: a table, a thunk, a guard variable.
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
				return p.transactionClone()
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

// transactionClone reads a clone of a function for gcc's transactional memory, which llvm does not support.
func (p *parser) transactionClone() *node {
	text := "transaction clone for "
	if p.take('n') {
		text = "non-transaction clone for "
	} else if !p.take('t') {
		return p.fail()
	}
	return p.make(node{kind: special, a: p.encoding(), text: text})
}

// constructionVtable reads a class, an offset, and the base class that the table is for.
func (p *parser) constructionVtable() *node {
	a := p.typ()
	if p.number(true) == "" || !p.take('_') {
		return p.fail()
	}
	return p.make(node{kind: constructionVtable, a: p.typ(), b: a})
}

// callOffset reads the adjustment that a thunk applies to the this pointer.
func (p *parser) callOffset() bool {
	if p.take('h') {
		return p.number(true) != "" && p.take('_')
	}
	return p.take('v') && p.number(true) != "" && p.take('_') && p.number(true) != "" && p.take('_')
}
