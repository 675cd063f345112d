package itanium

// standards are the abbreviations of the standard library: what they are called, whose constructors they have, and what
// they stand for.
var standards = [...]struct {
	letter                   byte
	name, base, full, string string
}{
	{'a', "allocator", "allocator", "std::allocator", "std::allocator"},
	{'b', "basic_string", "basic_string", "std::basic_string", "std::basic_string"},
	{'s', "string", "basic_string", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
	{'i', "istream", "basic_istream", "std::basic_istream<char, std::char_traits<char>>", "std::istream"},
	{'o', "ostream", "basic_ostream", "std::basic_ostream<char, std::char_traits<char>>", "std::ostream"},
	{'d', "iostream", "basic_iostream", "std::basic_iostream<char, std::char_traits<char>>", "std::iostream"},
}

// substitution reads a reference to what was there before, or a standard abbreviation. The latter with ABI tags is a
// candidate itself.
func (p *parser) substitution() *node {
	if !p.take('S') {
		return p.fail()
	}
	if c := p.peek(); c >= 'a' && c <= 'z' {
		for i := range standards {
			if standards[i].letter != c {
				continue
			}
			p.pos++
			n := p.make(node{kind: standard, index: int32(i)})
			if withTags := p.tags(n); withTags != n {
				p.subs = append(p.subs, withTags)
				return withTags
			}
			return n
		}
		return p.fail()
	}
	index := uint64(0)
	if !p.take('_') {
		n, ok := p.seqID()
		if !ok || !p.take('_') {
			return p.fail()
		}
		index = n + 1
	}
	if index >= uint64(len(p.subs)) {
		return p.fail()
	}
	n := p.subs[index]
	if n.params && !p.numbered {
		p.rebindings++
		if n = p.rebound(n); p.used > maxNodes {
			return p.fail()
		}
	}
	return n
}
