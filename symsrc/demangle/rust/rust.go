// Package rust demangles the names of Rust: those of the v0 scheme (RFC 2603; rust.go, type.go) and those of the legacy
// scheme before it (legacy.go).
package rust

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on the cost of one name. With back-references, short names can expand without end.
const (
	maxName   = 4096    // length of a name, in bytes
	maxOutput = 1 << 16 // length of the readable form, in bytes
	maxDepth  = 500     // depth of recursion
	maxSteps  = 1 << 16 // calls of enter
)

// Demangle returns the readable form of a name of the v0 scheme, `_R…` with an optional suffix (`.llvm.123`), as llvm prints
// it: without the hashes of crates and without the paths of impl blocks. It returns false for names that are malformed or
// longer than 4096 bytes, and for names whose readable form is longer than 64 KiB.
func Demangle(name string) (string, bool) {
	body, ok := strings.CutPrefix(name, "_R")
	if !ok || len(name) > maxName {
		return "", false
	}
	suffix := ""
	if dot := strings.IndexByte(body, '.'); dot >= 0 {
		body, suffix = body[:dot], body[dot:]
	}
	if body == "" || body[0] < 'A' || body[0] > 'Z' { // a digit is the encoding version of a later scheme
		return "", false
	}
	d := demangler{in: body, out: make([]byte, 0, 2*len(body))}
	d.path(true, false)
	if !d.bad && d.at < len(d.in) {
		d.mute++ // the instantiating crate
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

// demangler is a recursive-descent parser that prints while it parses. After an error, bad is set and no more input is read.
type demangler struct {
	in        string
	at        int // next byte of in
	out       []byte
	mute      int // if above 0: parse without printing
	depth     int
	steps     int
	lifetimes int // number of lifetimes bound by the enclosing binders
	bad       bool
}

// enter begins one level of recursion, which leave ends. It sets bad and returns false if a limit is exceeded.
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

// next consumes and returns one byte. At the end or after an error it sets bad and returns 0.
func (d *demangler) next() byte {
	if d.bad || d.at >= len(d.in) {
		d.bad = true
		return 0
	}
	d.at++
	return d.in[d.at-1]
}

// accept consumes c if it is next and reports whether it was.
func (d *demangler) accept(c byte) bool {
	if d.bad || d.at >= len(d.in) || d.in[d.at] != c {
		return false
	}
	d.at++
	return true
}

// list reads items up to an E, prints sep between them, and returns their number.
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

// backref reads the target of a back-reference, the number after a B, and calls item at that position. While nothing is printed,
// back-references are not followed.
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

// path reads a <path>. With value set, it is a path of a value, in which `::` precedes generic arguments. With open set, the
// closing bracket of the last generic arguments is not printed; path then reports whether the caller has to print it.
func (d *demangler) path(value, open bool) (opened bool) {
	if !d.enter() {
		return false
	}
	defer d.leave()
	switch tag := d.next(); tag {
	case 'C': // crate root
		d.number62('s')
		d.print(d.identifier())
	case 'M', 'X': // inherent and trait impl; the path of the impl block is not printed
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

// impl reads a type and, if trait is set, the path of a trait: <T as Trait>.
func (d *demangler) impl(trait bool) {
	d.print("<")
	d.typ()
	if trait {
		d.print(" as ")
		d.path(false, false)
	}
	d.print(">")
}

// nested reads a <nested path> after its N. Upper-case namespaces are special ones of the compiler: ::{closure:name#0}.
func (d *demangler) nested(value bool) {
	namespace := d.next()
	special := namespace >= 'A' && namespace <= 'Z'
	if !special && (namespace < 'a' || namespace > 'z') {
		d.bad = true
		return
	}
	d.path(value, false)
	number := d.number62('s')
	name := d.identifier()
	switch {
	case special:
		d.print("::{")
		switch namespace {
		case 'C':
			d.print("closure")
		case 'S':
			d.print("shim")
		default:
			d.print(string(namespace))
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

// identifier reads an <undisambiguated-identifier>: a length, an underscore if the bytes begin with a digit or an underscore,
// and the bytes. With a leading u, they are Punycode.
func (d *demangler) identifier() string {
	encoded := d.accept('u')
	n := d.decimal()
	d.accept('_')
	if d.bad || n > len(d.in)-d.at {
		d.bad = true
		return ""
	}
	name := d.in[d.at : d.at+n]
	d.at += n
	for _, c := range []byte(name) {
		if c != '_' && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			d.bad = true
			return ""
		}
	}
	if !encoded {
		return name
	}
	decoded, ok := decodePunycode(name)
	if !ok {
		d.bad = true
	}
	return decoded
}

// decimal reads a <decimal-number>. It has no leading zeros: `00` is two numbers.
func (d *demangler) decimal() int {
	c := d.next()
	if c < '0' || c > '9' {
		d.bad = true
		return 0
	}
	n := int(c - '0')
	for n > 0 && d.at < len(d.in) && d.in[d.at]-'0' < 10 {
		if n = n*10 + int(d.in[d.at]-'0'); n > maxName {
			d.bad = true
			return 0
		}
		d.at++
	}
	return n
}

// base62 reads a <base-62-number>: `_` is 0, `0_` is 1; the digits are 0-9, a-z and A-Z.
func (d *demangler) base62() uint64 {
	if d.accept('_') {
		return 0
	}
	n := uint64(0)
	for {
		var digit uint64
		switch c := d.next(); {
		case c == '_':
			return n + 1
		case c >= '0' && c <= '9':
			digit = uint64(c - '0')
		case c >= 'a' && c <= 'z':
			digit = uint64(c-'a') + 10
		case c >= 'A' && c <= 'Z':
			digit = uint64(c-'A') + 36
		default:
			d.bad = true
			return 0
		}
		high, low := bits.Mul64(n, 62)
		sum, carry := bits.Add64(low, digit, 0)
		if high|carry != 0 || sum == math.MaxUint64 { // the hash of a crate may use all 64 bits
			d.bad = true
			return 0
		}
		n = sum
	}
}

// number62 reads an optional tag and base-62 number. It returns 0 without the tag, and otherwise the number plus one.
func (d *demangler) number62(tag byte) uint64 {
	if !d.accept(tag) {
		return 0
	}
	return d.base62() + 1
}

func (d *demangler) printInt(n uint64) {
	if d.mute == 0 && !d.bad {
		d.out = strconv.AppendUint(d.out, n, 10)
	}
}

// constant reads a <const>: the letter of a basic type and hexadecimal digits, p for a placeholder, or a back-reference.
func (d *demangler) constant() {
	if !d.enter() {
		return
	}
	defer d.leave()
	switch tag := d.next(); tag {
	case 'p':
		d.print("_")
	case 'B':
		d.backref(d.constant)
	case 'a', 's', 'l', 'x', 'n', 'i':
		if d.accept('n') {
			d.print("-")
		}
		d.integer()
	case 'h', 't', 'm', 'y', 'o', 'j':
		d.integer()
	case 'b':
		switch d.hex() {
		case "0":
			d.print("false")
		case "1":
			d.print("true")
		default:
			d.bad = true
		}
	case 'c':
		d.character()
	default:
		d.bad = true
	}
}

// integer prints a number of at most 64 bits in decimal, and a longer one in hexadecimal.
func (d *demangler) integer() {
	digits := d.hex()
	if n, err := strconv.ParseUint(digits, 16, 64); err == nil {
		d.printInt(n)
		return
	}
	d.print("0x")
	d.print(digits)
}

// character prints a char constant as in Rust source code.
func (d *demangler) character() {
	digits := d.hex()
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		d.bad = true
		return
	}
	text := `\u{` + digits + `}`
	switch {
	case n == '\t':
		text = `\t`
	case n == '\r':
		text = `\r`
	case n == '\n':
		text = `\n`
	case n == '\\':
		text = `\\`
	case n == '\'':
		text = `\'`
	case n >= ' ' && n <= '~':
		text = string(rune(n))
	}
	d.print("'" + text + "'")
}

// hex reads hexadecimal digits without leading zeros, up to an underscore.
func (d *demangler) hex() string {
	start := d.at
	for d.at < len(d.in) && hexValue(d.in[d.at]) >= 0 {
		d.at++
	}
	digits := d.in[start:d.at]
	if !d.accept('_') || digits == "" || len(digits) > 1 && digits[0] == '0' {
		d.bad = true
		return ""
	}
	return digits
}

// decodePunycode decodes Punycode (RFC 3492) in Rust's variant: the ASCII characters end with the last underscore, not with a
// hyphen.
func decodePunycode(s string) (string, bool) {
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	var text []rune
	if at := strings.LastIndexByte(s, '_'); at >= 0 {
		text, s = []rune(s[:at]), s[at+1:]
	}
	if s == "" {
		return "", false
	}
	code, place, bias := rune(utf8.RuneSelf), 0, 72
	for first := true; s != ""; first = false {
		before, weight := place, 1
		for k := base; ; k += base {
			if s == "" || weight > math.MaxInt32 {
				return "", false
			}
			digit := punycodeDigit(s[0])
			s = s[1:]
			if digit < 0 {
				return "", false
			}
			place += digit * weight
			t := min(max(k-bias, tMin), tMax)
			if digit < t {
				break
			}
			weight *= base - t
		}
		n := len(text) + 1
		delta := (place - before) / 2
		if first {
			delta = (place - before) / damp
		}
		delta += delta / n
		for bias = 0; delta > (base-tMin)*tMax/2; bias += base {
			delta /= base - tMin
		}
		bias += (base - tMin + 1) * delta / (delta + skew)
		if place/n > utf8.MaxRune {
			return "", false
		}
		if code += rune(place / n); !utf8.ValidRune(code) {
			return "", false
		}
		place %= n
		text = slices.Insert(text, place, code)
		place++
	}
	return string(text), true
}

// punycodeDigit returns the value of a digit, from a to z and then 0 to 9, or -1 for any other byte.
func punycodeDigit(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a')
	case c >= '0' && c <= '9':
		return int(c-'0') + 26
	}
	return -1
}
