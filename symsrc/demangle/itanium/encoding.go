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
