// Package rust demangles the names of Rust: those of the v0 scheme (RFC 2603; rust.go, type.go, scalar.go) and those from
// before it (legacy.go).
package rust

import "strings"

// Bounds on what one name may cost. Back-references make short names that unfold without end.
const (
	maxName   = 4096    // bytes that are read
	maxOutput = 1 << 16 // bytes of the readable form
	maxDepth  = 500
	maxSteps  = 1 << 16
)

// Demangle returns the readable form of a name of the v0 scheme, `_R…`, which may have a suffix (`.llvm.123`), as llvm prints
// it: without the hashes of crates and without the paths that types come from. It fails for names over 4096 bytes and for
// those whose readable form is over 64 KiB.
func Demangle(name string) (string, bool) {
	body, ok := strings.CutPrefix(name, "_R")
	if !ok || len(name) > maxName {
		return "", false
	}
	suffix := ""
	if dot := strings.IndexByte(body, '.'); dot >= 0 {
		body, suffix = body[:dot], body[dot:]
	}
	if body == "" || body[0] < 'A' || body[0] > 'Z' { // a digit is the number of a later version
		return "", false
	}
	d := demangler{in: body, out: make([]byte, 0, 2*len(body))}
	d.path(true, false)
	if !d.bad && d.at < len(d.in) {
		d.mute++ // the crate that the instance lies in
		d.path(true, false)
	}
	if d.bad || d.at < len(d.in) {
		return "", false
	}
	if suffix != "" {
		d.out = append(append(append(d.out, " ("...), suffix...), ')')
	}
	return string(d.out), true
}

// demangler is a recursive-descent parser that prints as it reads. After an error, bad is set and nothing moves.
type demangler struct {
	in        string
	at        int // next byte of in
	out       []byte
	mute      int // above 0: read, do not print
	depth     int
	steps     int
	lifetimes int // bound by the binders around this place
	bad       bool
}

// enter counts one level of recursion, and refuses what is too deep, long or large. leave goes back up.
func (d *demangler) enter() bool {
	d.depth++
	d.steps++
	if d.depth > maxDepth || d.steps > maxSteps || len(d.out) > maxOutput {
		d.bad = true
	}
	return !d.bad
}

func (d *demangler) leave() { d.depth-- }

func (d *demangler) print(s string) {
	if d.mute == 0 && !d.bad {
		d.out = append(d.out, s...)
	}
}

// next takes one byte, 0 at the end or after an error.
func (d *demangler) next() byte {
	if d.bad || d.at >= len(d.in) {
		d.bad = true
		return 0
	}
	d.at++
	return d.in[d.at-1]
}

// accept takes the byte c if it is next.
func (d *demangler) accept(c byte) bool {
	if d.bad || d.at >= len(d.in) || d.in[d.at] != c {
		return false
	}
	d.at++
	return true
}

// list reads items up to an E and prints sep between them; it returns their number.
func (d *demangler) list(sep string, item func()) int {
	for n := 0; ; n++ {
		if d.bad || d.accept('E') {
			return n
		}
		if n > 0 {
			d.print(sep)
		}
		item()
	}
}

// backref reads the number after a B and reads on, with item, at that earlier place. What is not printed is not
// followed.
func (d *demangler) backref(item func()) {
	limit := uint64(d.at - 1)
	to := d.base62()
	if to >= limit {
		d.bad = true
	}
	if d.bad || d.mute > 0 {
		return
	}
	back := d.at
	d.at = int(to)
	item()
	d.at = back
}

// path reads a <path>. Generic arguments follow `::` in a value, nothing in a type. With open the closing bracket of
// the last generic arguments is left for the caller, who is told of it.
func (d *demangler) path(value, open bool) (opened bool) {
	if !d.enter() {
		return false
	}
	defer d.leave()
	switch tag := d.next(); tag {
	case 'C': // crate root
		d.number62('s')
		d.print(d.identifier())
	case 'M', 'X': // inherent and trait impl, whose own path is not printed
		d.mute++
		d.number62('s')
		d.path(value, false)
		d.mute--
		d.impl(tag == 'X')
	case 'Y': // trait definition
		d.impl(true)
	case 'N':
		d.nested(value)
	case 'I':
		d.path(value, false)
		if value {
			d.print("::")
		}
		d.print("<")
		d.list(", ", d.genericArg)
		if open {
			return true
		}
		d.print(">")
	case 'B':
		d.backref(func() { opened = d.path(value, open) })
	default:
		d.bad = true
	}
	return opened
}

// impl reads a type, and a trait's path where there is one: <T as Trait>.
func (d *demangler) impl(trait bool) {
	d.print("<")
	d.typ()
	if trait {
		d.print(" as ")
		d.path(false, false)
	}
	d.print(">")
}

// nested reads what follows the N of a path. A namespace in capitals is a compiler's invention: ::{closure:name#0}.
func (d *demangler) nested(value bool) {
	space := d.next()
	special := space >= 'A' && space <= 'Z'
	if !special && (space < 'a' || space > 'z') {
		d.bad = true
		return
	}
	d.path(value, false)
	number := d.number62('s')
	name := d.identifier()
	switch {
	case special:
		d.print("::{")
		switch space {
		case 'C':
			d.print("closure")
		case 'S':
			d.print("shim")
		default:
			d.print(string(space))
		}
		if name != "" {
			d.print(":")
			d.print(name)
		}
		d.print("#")
		d.printInt(number)
		d.print("}")
	case name != "":
		d.print("::")
		d.print(name)
	}
}

// genericArg reads a lifetime, a constant or a type.
func (d *demangler) genericArg() {
	switch {
	case d.accept('L'):
		d.printLifetime(d.base62())
	case d.accept('K'):
		d.constant()
	default:
		d.typ()
	}
}
