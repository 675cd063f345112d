// Package d demangles the names of D (https://dlang.org/spec/abi.html#name_mangling) as far as llvm reads them.
package d

import (
	"math"
	"strings"
)

// Demangle returns the readable form of a name that begins with `_D`. It reads qualified names of variables of type int and of what the compiler makes itself, such as `_D4test3Foo6__initZ`.
// Functions, types and templates stay as they are.
func Demangle(name string) (s string, ok bool) {
	if name == "_Dmain" {
		return "D main", true
	}
	if !strings.HasPrefix(name, "_D") {
		return "", false
	}
	p := parser{name: name, at: len("_D"), lastRef: len(name)}
	if !p.qualified() || !p.typed() || p.at < len(name) && name[p.at] != 0 {
		return "", false
	}
	return string(p.out), len(p.out) > 0
}

// parser reads a name from at on.
type parser struct {
	name string
	at   int
	out  []byte
	// lastRef is where the last reference to a type stands: those within what it refers to must stand before it.
	lastRef int
}

// qualified reads identifiers. A 0 stands for one that has no name.
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

// peek returns the byte at hand, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.name) {
		return p.name[p.at]
	}
	return 0
}

func (p *parser) atIdentifier() bool {
	switch c := p.peek(); {
	case isDigit(c):
		return true
	case c == 'Q':
		ahead := *p
		ref, ok := ahead.reference()
		return ok && isDigit(p.name[ref])
	}
	return false
}

// identifier reads one identifier, or a reference to one.
func (p *parser) identifier() bool {
	for p.peek() != 'Q' {
		n, ok := p.number()
		if !ok || n == 0 || n > len(p.name)-p.at {
			return false
		}
		// A parent `__S1` makes names unique that several blocks of a function declare.
		digits, fake := strings.CutPrefix(p.name[p.at:p.at+n], "__S")
		if n < 4 || !fake || strings.Trim(digits, "0123456789") != "" {
			p.plain(n)
			return true
		}
		p.at += n
	}
	ref, ok := p.reference()
	if !ok {
		return false
	}
	text, _, _ := strings.Cut(p.name[ref:], "\x00")
	there := parser{name: text, out: p.out}
	n, ok := there.number()
	if !ok || n > len(there.name)-there.at {
		return false
	}
	there.plain(n)
	p.out = there.out
	return there.at < len(there.name)
}

// plain reads an identifier of n bytes. Some, with the Z that ends the whole name, say what the compiler has made for what
// stands before them.
func (p *parser) plain(n int) {
	for _, made := range [...]struct{ name, what string }{
		{"__initZ", "initializer for "}, {"__vtblZ", "vtable for "}, {"__ClassZ", "ClassInfo for "},
		{"__InterfaceZ", "Interface for "}, {"__ModuleInfoZ", "ModuleInfo for "},
	} {
		if n == len(made.name)-1 && strings.HasPrefix(p.name[p.at:], made.name) {
			p.out = append([]byte(made.what), p.out...)
			p.out = p.out[:len(p.out)-1] // the dot
			p.at += n
			return
		}
	}
	p.out = append(p.out, p.name[p.at:p.at+n]...)
	p.at += n
}

// number reads a decimal number of 32 bits, after which something must follow.
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

// reference reads a Q and how far back it refers: a number to the base of 26, of which the last digit is a small letter.
func (p *parser) reference() (to int, ok bool) {
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

// typed reads the type, which is not shown: int, a reference to that, or a Z for none.
func (p *parser) typed() bool {
	if p.peek() == 'Z' {
		p.at++
		return true
	}
	return p.typeOf()
}

func (p *parser) typeOf() bool {
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
		ref, ok := p.reference()
		if !ok {
			return false
		}
		there := parser{name: p.name, at: ref, lastRef: p.lastRef}
		p.lastRef = before
		return there.typeOf() && there.at < len(there.name)
	}
	return false
}

func isDigit(c byte) bool { return c-'0' < 10 }
