// Package rust demangles the names of Rust: those of the v0 scheme (RFC 2603; rust.go, type.go) and those from
// before it (legacy.go).
package rust

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

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

// identifier reads an <undisambiguated-identifier>: a length, an underscore where the bytes would be taken for more of
// the length, the bytes. A leading u says that they are punycode.
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

// decimal reads a <decimal-number>: 0 stands alone, so that the digits of `00` are two numbers.
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

// base62 reads a <base-62-number>: `_` is 0, `0_` is 1, digits go 0-9 a-z A-Z.
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
		if high|carry != 0 || sum == math.MaxUint64 { // the hash of a crate may have all 64 bits
			d.bad = true
			return 0
		}
		n = sum
	}
}

// number62 reads an optional base-62 number after a tag: 0 without it, or one more than the number.
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

// constant reads a <const>: a basic type's letter and hexadecimal digits, p for a placeholder, or a back-reference.
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

// integer prints what fits into 64 bits in decimal, longer numbers as they stand.
func (d *demangler) integer() {
	digits := d.hex()
	if n, err := strconv.ParseUint(digits, 16, 64); err == nil {
		d.printInt(n)
		return
	}
	d.print("0x")
	d.print(digits)
}

// character prints a char constant as Rust's source would have it.
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

// hex reads hexadecimal digits, without zeros before them, up to an underscore.
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

// decodePunycode decodes RFC 3492 as Rust writes it: the last underscore, not a hyphen, ends the plain characters.
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

// punycodeDigit is the value of one digit, a-z then 0-9, -1 of anything else.
func punycodeDigit(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a')
	case c >= '0' && c <= '9':
		return int(c-'0') + 26
	}
	return -1
}
