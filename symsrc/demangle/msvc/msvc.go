// Package msvc demangles the names of Microsoft's C++ compiler. A name becomes a graph of nodes (node.go; read by symbol.go,
// special.go, name.go, type.go, string.go, code.go), which is written from the outside in (write*.go).
package msvc

import "strings"

// Demangle returns the readable form of a name of Microsoft's compiler (`?f@@YAHH@Z`) or of the type in its type
// descriptors (`.?AVfoo@@`), as llvm writes it. The scheme is not published whole; clang's own mangling, from which the tests
// take their names, is the reference. With brief set, access, calling convention and result of the function are left out,
// which is llvm's way for frames. What follows a name that is complete is passed over. Malformed names are refused, some of
// which llvm reads: it forgets an error at the next pointer.
func Demangle(name string, brief bool) (s string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	p := parser{rest: name, left: maxWritten}
	sym := p.top()
	if p.bad {
		return "", false
	}
	w := writer{left: &p.left}
	var how omissions
	if brief {
		how = onlyParams | noConvention
	}
	w.symbol(sym, how)
	ok = p.left > 0 && len(w.out) > 0 && len(w.out) <= maxOutput
	if !ok {
		return "", false
	}
	return string(w.out), true
}

const (
	maxName   = 4096    // bytes that are read
	maxOutput = 1 << 16 // bytes of the readable form
)

// maxWritten bounds the bytes that are written for one name, the texts for references included. References make names of
// exponential length, and names that stand in each other are written once per level.
const maxWritten = 4 << 20

// parser reads a name from the front.
type parser struct {
	rest string
	// bad is set for good once something is not understood; rest is empty then.
	bad  bool
	refs backRefs
	// left is how many bytes may yet be written.
	left int
}

// backRefs holds what the digits 0 to 9 refer to: names where a name stands, types where a parameter stands.
type backRefs struct {
	names  []string
	params []*typeNode
}

func (p *parser) fail() {
	p.bad, p.rest = true, ""
}

// eat passes over prefix, if it is next.
func (p *parser) eat(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// need passes over prefix, which must be next.
func (p *parser) need(prefix string) {
	if !p.eat(prefix) {
		p.fail()
	}
}

// peek returns the byte at hand, 0 at the end.
func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// next takes a byte. The end of the name is an error.
func (p *parser) next() byte {
	if p.rest == "" {
		p.fail()
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// digit reports whether a reference is next.
func (p *parser) digit() bool {
	c := p.peek()
	return '0' <= c && c <= '9'
}

// number reads a number: one digit is 1 to 10; others are hexadecimal with A to P for digits, up to an @. A ? makes it
// negative.
func (p *parser) number() (n uint64, negative bool) {
	negative = p.eat("?")
	if p.digit() {
		return uint64(p.next()-'0') + 1, negative
	}
	for {
		switch c := p.next(); {
		case c == '@', p.bad:
			return n, negative
		case c < 'A' || c > 'P':
			p.fail()
		default:
			n = n<<4 + uint64(c-'A')
		}
	}
}

// unsigned reads a number that must not be negative.
func (p *parser) unsigned() uint64 {
	n, negative := p.number()
	if negative {
		p.fail()
	}
	return n
}

// signed reads a number of 64 bits with its sign.
func (p *parser) signed() int64 {
	n, negative := p.number()
	if n > 1<<63-1 {
		p.fail()
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// remember makes s a name to refer to; ten have room, and none twice.
func (p *parser) remember(s string) {
	if len(p.refs.names) == 10 {
		return
	}
	for _, known := range p.refs.names {
		if known == s {
			return
		}
	}
	p.refs.names = append(p.refs.names, s)
}

// rememberIdent makes the text of an identifier a name to refer to.
func (p *parser) rememberIdent(id *ident) {
	w := writer{left: &p.left}
	if w.ident(id, 0); p.left <= 0 {
		p.fail()
	}
	p.remember(string(w.out))
}
