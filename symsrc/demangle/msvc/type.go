package msvc

// qualsBefore is whether qualifiers are encoded before a type.
type qualsBefore uint8

const (
	noQuals    qualsBefore = iota // no
	withQuals                     // yes
	maybeQuals                    // only after a ?, as for return types
)

// typ reads a type.
func (p *parser) typ(prefix qualsBefore) *typeNode {
	var quals qualifiers
	if prefix == withQuals || prefix == maybeQuals && p.consume("?") {
		quals, _ = p.quals()
	}
	t := p.bareType()
	t.quals |= quals
	return t
}

func (p *parser) bareType() *typeNode {
	switch c := p.peek(); {
	case c == 'T' || c == 'U' || c == 'V' || c == 'W':
		return p.tag()
	case c == 'A' || c == 'P' || c == 'Q' || c == 'R' || c == 'S':
		return p.pointer()
	case c == 'Y':
		return p.array()
	case c == '?':
		p.next()
		t := &typeNode{form: custom, name: nameNode{p.typeIdent()}}
		p.expect("@")
		return t
	case c != '$':
	case p.consume("$$A8@@"):
		return p.function(true)
	case p.consume("$$A6"):
		return p.function(false)
	case p.consume("$$T"):
		return &typeNode{text: "std::nullptr_t"}
	case len(p.rest) > 3 && p.rest[:3] == "$$Q":
		return p.pointer()
	}
	t := &typeNode{}
	if c := p.next(); c == '_' {
		t.text = longTypes[p.next()]
	} else {
		t.text = types[c]
	}
	if t.text == "" {
		p.fail()
	}
	return t
}

// tag reads a union, struct, class or enum.
func (p *parser) tag() *typeNode {
	t := &typeNode{form: tag}
	switch p.next() {
	case 'T':
		t.text = "union "
	case 'U':
		t.text = "struct "
	case 'V':
		t.text = "class "
	default:
		t.text = "enum "
		p.expect("4")
	}
	t.name = p.typeName()
	return t
}

// quals reads the qualifiers of a pointee, and whether it is a member of a class.
func (p *parser) quals() (q qualifiers, member bool) {
	switch c := p.next(); {
	case 'A' <= c && c <= 'D':
		return qualifiers(c - 'A'), false
	case 'Q' <= c && c <= 'T':
		return qualifiers(c - 'Q'), true
	}
	p.fail()
	return 0, false
}

// extended reads Microsoft's extended qualifiers of a pointer. __ptr64 is not printed.
func (p *parser) extended() (q qualifiers) {
	p.consume("E")
	if p.consume("I") {
		q |= restrict
	}
	if p.consume("F") {
		q |= unaligned
	}
	return q
}

// pointer reads a pointer or a reference: one letter for its kind and its qualifiers, then the pointee.
func (p *parser) pointer() *typeNode {
	t := &typeNode{form: pointerTo, text: "*"}
	canBeMember := false
	switch c := p.next(); c {
	case '$':
		p.expect("$Q")
		t.text = "&&"
	case 'A':
		t.text = "&"
	default:
		t.quals, canBeMember = qualifiers(c-'P'), true
	}
	if p.consume("6") {
		t.elem = p.function(false)
		return t
	}
	if canBeMember && p.consume("8") {
		t.owner = p.typeName()
		t.elem = p.function(true)
		return t
	}
	t.quals |= p.extended()
	quals, member := p.quals()
	if member {
		if !canBeMember {
			member = false
		} else {
			t.owner = p.typeName()
		}
	}
	t.elem = p.typ(noQuals)
	if member {
		t.elem.quals = quals
	} else {
		t.elem.quals |= quals
	}
	return t
}

// array reads an array of any number of dimensions.
func (p *parser) array() *typeNode {
	t := &typeNode{form: array}
	p.next()
	rank := p.unsigned()
	if rank == 0 || rank > maxName {
		p.fail()
	}
	for ; rank > 0 && !p.bad; rank-- {
		t.dims = append(t.dims, p.unsigned())
	}
	if p.consume("$$C") {
		q, member := p.quals()
		if t.quals = q; member {
			p.fail()
		}
	}
	t.elem = p.typ(noQuals)
	return t
}

// function reads the type of a function. A method also has the qualifiers of its object.
func (p *parser) function(method bool) *typeNode {
	t := &typeNode{form: function, sig: &signature{}}
	if method {
		t.quals = p.extended()
		if p.consume("G") {
			t.sig.ref = " &"
		} else if p.consume("H") {
			t.sig.ref = " &&"
		}
		q, _ := p.quals()
		t.quals |= q
	}
	t.sig.convention = conventions[p.next()]
	if !p.consume("@") { // constructors and destructors have it in place of a return type
		t.elem = p.typ(maybeQuals)
	}
	p.parameters(t.sig)
	if p.consume("_E") {
		t.sig.noexcept = true
	} else {
		p.expect("Z")
	}
	return t
}

// parameters reads the types of parameters, up to an @, or to a Z if the function is variadic.
func (p *parser) parameters(s *signature) {
	if p.consume("X") {
		s.void = true
		return
	}
	for !p.bad {
		switch {
		case p.consume("@"):
			return
		case p.consume("Z"):
			s.variadic = true
			return
		case p.atDigit():
			n := int(p.next() - '0')
			if n >= len(p.refs.params) {
				p.fail()
				return
			}
			s.params = append(s.params, p.refs.params[n])
		default:
			length := len(p.rest)
			t := p.typ(noQuals)
			if length-len(p.rest) > 1 && len(p.refs.params) < 10 {
				p.refs.params = append(p.refs.params, t)
			}
			s.params = append(s.params, t)
		}
	}
}
