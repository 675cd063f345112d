package rust

import "strings"

// basicTypes are the basic types, whose codes are the letters from a to z; "" is an unused letter.
var basicTypes = [26]string{
	"i8", "bool", "char", "f64", "str", "f32", "", "u8", "isize", "usize", "", "i32", "u32",
	"i128", "u128", "_", "", "", "i16", "u16", "()", "...", "", "i64", "u64", "!",
}

// typ reads a <type>.
func (d *demangler) typ() {
	if !d.enter() {
		return
	}
	defer d.leave()
	start := d.at
	switch tag := d.next(); tag {
	case 'A', 'S':
		d.print("[")
		d.typ()
		if tag == 'A' {
			d.print("; ")
			d.constant()
		}
		d.print("]")
	case 'T':
		d.print("(")
		if d.list(", ", d.typ) == 1 {
			d.print(",")
		}
		d.print(")")
	case 'R', 'Q':
		d.print("&")
		if d.accept('L') {
			if lifetime := d.base62(); lifetime > 0 {
				d.printLifetime(lifetime)
				d.print(" ")
			}
		}
		if tag == 'Q' {
			d.print("mut ")
		}
		d.typ()
	case 'P':
		d.print("*const ")
		d.typ()
	case 'O':
		d.print("*mut ")
		d.typ()
	case 'F':
		d.scope(d.function)
	case 'D':
		d.dyn()
	case 'B':
		d.backref(d.typ)
	default:
		if tag >= 'a' && tag <= 'z' {
			name := basicTypes[tag-'a']
			d.bad = d.bad || name == ""
			d.print(name)
			return
		}
		d.at = start
		d.path(false, false)
	}
}

// scope reads an optional binder, and calls read while its lifetimes are in scope.
func (d *demangler) scope(read func()) {
	outer := d.lifetimes
	d.binder()
	read()
	d.lifetimes = outer
}

// binder reads an optional `G` <base-62-number>: for<'a, 'b>.
func (d *demangler) binder() {
	n := d.number62('G')
	if n == 0 || d.bad {
		return
	}
	if n+uint64(d.lifetimes) >= uint64(len(d.in)) { // the name would be too short to use each of them
		d.bad = true
		return
	}
	d.print("for<")
	for i := range n {
		if i > 0 {
			d.print(", ")
		}
		d.lifetimes++
		d.printLifetime(1)
	}
	d.print("> ")
}

// function reads the signature of a function pointer, after its binder.
func (d *demangler) function() {
	if d.accept('U') {
		d.print("unsafe ")
	}
	if d.accept('K') {
		abi := "C"
		if !d.accept('C') {
			abi = strings.ReplaceAll(d.identifier(), "_", "-")
		}
		d.print(`extern "`)
		d.print(abi)
		d.print(`" `)
	}
	d.print("fn(")
	d.list(", ", d.typ)
	d.print(")")
	if !d.accept('u') {
		d.print(" -> ")
		d.typ()
	}
}

// dyn reads a trait object: its traits and its lifetime bound.
func (d *demangler) dyn() {
	d.print("dyn ")
	d.scope(func() { d.list(" + ", d.dynTrait) })
	if !d.accept('L') {
		d.bad = true
		return
	}
	if lifetime := d.base62(); lifetime > 0 {
		d.print(" + ")
		d.printLifetime(lifetime)
	}
}

// dynTrait reads the path of a trait and its associated types, which are printed in the brackets of its generic arguments.
func (d *demangler) dynTrait() {
	open := d.path(false, true)
	for d.accept('p') {
		if open {
			d.print(", ")
		} else {
			d.print("<")
			open = true
		}
		d.print(d.identifier())
		d.print(" = ")
		d.typ()
	}
	if open {
		d.print(">")
	}
}

// printLifetime prints the lifetime with a De Bruijn index: 1 is the one bound last, 0 is the erased lifetime.
func (d *demangler) printLifetime(index uint64) {
	if index == 0 {
		d.print("'_")
		return
	}
	if index > uint64(d.lifetimes) {
		d.bad = true
		return
	}
	depth := d.lifetimes - int(index)
	switch {
	case depth < 26:
		d.print("'" + string(rune('a'+depth)))
	default:
		d.print("'z")
		d.printInt(uint64(depth - 26 + 1))
	}
}
