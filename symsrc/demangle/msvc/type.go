package msvc

// qualsBefore says whether qualifiers stand before a type.
type qualsBefore uint8

const (
	noQuals    qualsBefore = iota // none do
	withQuals                     // they do
	maybeQuals                    // they do after a ?, as in results
)

// typ reads a type.
func (p *parser) typ(prefix qualsBefore) *typeNode {
	var quals qualifiers
	if prefix == withQuals || prefix == maybeQuals && p.eat("?") {
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
		p.need("@")
		return t
	case c != '$':
	case p.eat("$$A8@@"):
		return p.function(true)
	case p.eat("$$A6"):
		return p.function(false)
	case p.eat("$$T"):
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
		p.need("4")
	}
	t.name = p.typeName()
	return t
}

// quals reads the qualifiers of what is pointed to, and whether that is a member.
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

// extended reads the qualifiers of a pointer that Microsoft added; that it has 64 bits is not shown.
func (p *parser) extended() (q qualifiers) {
	p.eat("E")
	if p.eat("I") {
		q |= restrict
	}
	if p.eat("F") {
		q |= unaligned
	}
	return q
}

// pointer reads a pointer or a reference: what it is and its qualifiers in one letter, then what it is to.
func (p *parser) pointer() *typeNode {
	t := &typeNode{form: pointerTo, text: "*"}
	mayMember := false
	switch c := p.next(); c {
	case '$':
		p.need("$Q")
		t.text = "&&"
	case 'A':
		t.text = "&"
	default:
		t.quals, mayMember = qualifiers(c-'P'), true
	}
	if p.eat("6") {
		t.elem = p.function(false)
		return t
	}
	if mayMember && p.eat("8") {
		t.owner = p.typeName()
		t.elem = p.function(true)
		return t
	}
	t.quals |= p.extended()
	quals, member := p.quals()
	if member {
		if !mayMember {
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
	if p.eat("$$C") {
		q, member := p.quals()
		if t.quals = q; member {
			p.fail()
		}
	}
	t.elem = p.typ(noQuals)
	return t
}

// function reads the type of a function; a method has qualifiers for its object.
func (p *parser) function(method bool) *typeNode {
	t := &typeNode{form: function, sig: &signature{}}
	if method {
		t.quals = p.extended()
		if p.eat("G") {
			t.sig.ref = " &"
		} else if p.eat("H") {
			t.sig.ref = " &&"
		}
		q, _ := p.quals()
		t.quals |= q
	}
	t.sig.convention = conventions[p.next()]
	if !p.eat("@") { // which constructors have in place of a result
		t.elem = p.typ(maybeQuals)
	}
	p.parameters(t.sig)
	if p.eat("_E") {
		t.sig.noexcept = true
	} else {
		p.need("Z")
	}
	return t
}

// parameters reads the types of parameters, up to an @, or a Z where more may follow them.
func (p *parser) parameters(s *signature) {
	if p.eat("X") {
		s.void = true
		return
	}
	for !p.bad {
		switch {
		case p.eat("@"):
			return
		case p.eat("Z"):
			s.variadic = true
			return
		case p.digit():
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
