package symsrc

// msPrefix says whether qualifiers stand before a type.
type msPrefix uint8

const (
	msNoQuals    msPrefix = iota // none do
	msWithQuals                  // they do
	msMaybeQuals                 // they do after a ?, as in results
)

// typ reads a type.
func (p *msParser) typ(prefix msPrefix) *msType {
	var quals msQuals
	if prefix == msWithQuals || prefix == msMaybeQuals && p.eat("?") {
		quals, _ = p.quals()
	}
	t := p.bareType()
	t.quals |= quals
	return t
}

func (p *msParser) bareType() *msType {
	switch c := p.peek(); {
	case c == 'T' || c == 'U' || c == 'V' || c == 'W':
		return p.tag()
	case c == 'A' || c == 'P' || c == 'Q' || c == 'R' || c == 'S':
		return p.pointer()
	case c == 'Y':
		return p.array()
	case c == '?':
		p.next()
		t := &msType{form: msCustom, name: msName{p.typeIdent()}}
		p.need("@")
		return t
	case c != '$':
	case p.eat("$$A8@@"):
		return p.function(true)
	case p.eat("$$A6"):
		return p.function(false)
	case p.eat("$$T"):
		return &msType{text: "std::nullptr_t"}
	case len(p.rest) > 3 && p.rest[:3] == "$$Q":
		return p.pointer()
	}
	t := &msType{}
	if c := p.next(); c == '_' {
		t.text = msLongTypes[p.next()]
	} else {
		t.text = msTypes[c]
	}
	if t.text == "" {
		p.fail()
	}
	return t
}

// tag reads a union, struct, class or enum.
func (p *msParser) tag() *msType {
	t := &msType{form: msTag}
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
func (p *msParser) quals() (q msQuals, member bool) {
	switch c := p.next(); {
	case 'A' <= c && c <= 'D':
		return msQuals(c - 'A'), false
	case 'Q' <= c && c <= 'T':
		return msQuals(c - 'Q'), true
	}
	p.fail()
	return 0, false
}

// extended reads the qualifiers of a pointer that Microsoft added; that it has 64 bits is not shown.
func (p *msParser) extended() (q msQuals) {
	p.eat("E")
	if p.eat("I") {
		q |= msRestrict
	}
	if p.eat("F") {
		q |= msUnaligned
	}
	return q
}

// pointer reads a pointer or a reference: what it is and its qualifiers in one letter, then what it is to.
func (p *msParser) pointer() *msType {
	t := &msType{form: msPointer, text: "*"}
	mayMember := false
	switch c := p.next(); c {
	case '$':
		p.need("$Q")
		t.text = "&&"
	case 'A':
		t.text = "&"
	default:
		t.quals, mayMember = msQuals(c-'P'), true
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
	t.elem = p.typ(msNoQuals)
	if member {
		t.elem.quals = quals
	} else {
		t.elem.quals |= quals
	}
	return t
}

// array reads an array of any number of dimensions.
func (p *msParser) array() *msType {
	t := &msType{form: msArray}
	p.next()
	rank := p.unsigned()
	if rank == 0 || rank > maxMangled {
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
	t.elem = p.typ(msNoQuals)
	return t
}

// function reads the type of a function; a method has qualifiers for its object.
func (p *msParser) function(method bool) *msType {
	t := &msType{form: msFunction, sig: &msSignature{}}
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
	t.sig.convention = msConventions[p.next()]
	if !p.eat("@") { // which constructors have in place of a result
		t.elem = p.typ(msMaybeQuals)
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
func (p *msParser) parameters(s *msSignature) {
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
			t := p.typ(msNoQuals)
			if length-len(p.rest) > 1 && len(p.refs.params) < 10 {
				p.refs.params = append(p.refs.params, t)
			}
			s.params = append(s.params, t)
		}
	}
}
