// Package d demangles those names of D (https://dlang.org/spec/abi.html#name_mangling) that llvm demangles.
package d

import (
	"math"
	"strings"
)

// Demangle returns the readable form of a name that begins with `_D`. It supports the qualified names of variables of type int
// and of compiler-generated data, such as `_D4test3Foo6__initZ`. It returns false for all others: functions, types, templates.
func Demangle(name string) (s string, ok bool) {
	if name == "_Dmain" {
		return "D main", true
	}
	if !strings.HasPrefix(name, "_D") {
		return "", false
	}
	p := parser{name: name, at: len("_D"), lastRef: len(name)}
	if !p.qualified() || !p.typeOrEnd() || p.at < len(name) && name[p.at] != 0 {
		return "", false
	}
	return string(p.out), len(p.out) > 0
}

// parser reads name from the position at.
type parser struct {
	name string
	at   int
	out  []byte
	// lastRef is the position of the back-reference to a type that is being followed. Back-references inside its target
	// must come before it, so that following them ends.
	lastRef int
}

// qualified reads a qualified name: a sequence of identifiers, of which a 0 is an anonymous one.
func (p *parser) qualified() bool {
	for named := false; ; {
		if p.peek() == '0' {
			for p.peek() == '0' {
				p.at++
			}
		} else {
			if named {
				p.out = append(p.out, '.')
			}
			named = true
			if !p.identifier() {
				return false
			}
		}
		if !p.atIdentifier() {
			return p.at < len(p.name)
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.name) {
		return p.name[p.at]
	}
	return 0
}

// atIdentifier reports whether the next bytes are an identifier or a back-reference to one.
func (p *parser) atIdentifier() bool {
	switch c := p.peek(); {
	case isDigit(c):
		return true
	case c == 'Q':
		ahead := *p
		ref, ok := ahead.backReference()
		return ok && isDigit(p.name[ref])
	}
	return false
}

// identifier reads one identifier, or a back-reference to one.
func (p *parser) identifier() bool {
	for p.peek() != 'Q' {
		n, ok := p.number()
		if !ok || n == 0 || n > len(p.name)-p.at {
			return false
		}
		// The compiler inserts a fake parent such as `__S1` to distinguish declarations in different blocks of a function.
		digits, fake := strings.CutPrefix(p.name[p.at:p.at+n], "__S")
		if n < 4 || !fake || strings.Trim(digits, "0123456789") != "" {
			p.plain(n)
			return true
		}
		p.at += n
	}
	ref, ok := p.backReference()
	if !ok {
		return false
	}
	text, _, _ := strings.Cut(p.name[ref:], "\x00")
	target := parser{name: text, out: p.out}
	n, ok := target.number()
	if !ok || n > len(target.name)-target.at {
		return false
	}
	target.plain(n)
	p.out = target.out
	return target.at < len(target.name)
}

// plain reads an identifier of n bytes. Some identifiers, together with the Z that ends the whole name, mark data that the
// compiler generates for the entity named before them.
func (p *parser) plain(n int) {
	for _, generated := range [...]struct{ name, prefix string }{
		{"__initZ", "initializer for "}, {"__vtblZ", "vtable for "}, {"__ClassZ", "ClassInfo for "},
		{"__InterfaceZ", "Interface for "}, {"__ModuleInfoZ", "ModuleInfo for "},
	} {
		if n == len(generated.name)-1 && strings.HasPrefix(p.name[p.at:], generated.name) {
			p.out = append([]byte(generated.prefix), p.out...)
			p.out = p.out[:len(p.out)-1] // the dot
			p.at += n
			return
		}
	}
	p.out = append(p.out, p.name[p.at:p.at+n]...)
	p.at += n
}

// number reads a decimal number of at most 32 bits. It fails at the end of the name.
func (p *parser) number() (n int, ok bool) {
	begin := p.at
	for isDigit(p.peek()) {
		wide := uint64(n)*10 + uint64(p.peek()-'0')
		if wide > min(math.MaxUint32, math.MaxInt) {
			return 0, false
		}
		n = int(wide)
		p.at++
	}
	return n, p.at > begin && p.at < len(p.name)
}

// backReference reads a Q and a distance, and returns the position that it refers to. The distance is a base-26 number
// whose last digit is a lower-case letter.
func (p *parser) backReference() (to int, ok bool) {
	q := p.at
	p.at++
	back := 0
	for {
		c := p.peek()
		p.at++
		switch {
		case back > len(p.name):
			return 0, false
		case c >= 'A' && c <= 'Z':
			back = back*26 + int(c-'A')
		case c >= 'a' && c <= 'z':
			back = back*26 + int(c-'a')
			return q - back, back > 0 && back <= q
		default:
			return 0, false
		}
	}
}

// typeOrEnd reads the type, which is not written: int, a back-reference to it, or Z for no type.
func (p *parser) typeOrEnd() bool {
	if p.peek() == 'Z' {
		p.at++
		return true
	}
	return p.typ()
}

func (p *parser) typ() bool {
	switch p.peek() {
	case 'i':
		p.at++
		return true
	case 'Q':
		if p.at >= p.lastRef {
			return false
		}
		before := p.lastRef
		p.lastRef = p.at
		ref, ok := p.backReference()
		if !ok {
			return false
		}
		target := parser{name: p.name, at: ref, lastRef: p.lastRef}
		p.lastRef = before
		return target.typ() && target.at < len(target.name)
	}
	return false
}

func isDigit(c byte) bool { return c-'0' < 10 }
