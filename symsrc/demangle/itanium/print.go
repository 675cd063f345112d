package itanium

import "strconv"

// noPack is the index and the count of packs outside of pack expansions.
const noPack = -1

// printer prints a graph. A type surrounds the name that it declares, as `int (*` and `)[3]` in a pointer to an array: left
// prints the part before the name, right the part after it.
type printer struct {
	out  []byte
	llvm bool // see parser
	// packIndex is the index of the pack elements that are being printed, packCount the size of the first pack of the expansion.
	packIndex, packCount int
	// angle tracks whether template arguments are being printed, in which a > needs parentheses unless it is in brackets. It
	// is put in parentheses outside of template arguments, too, as in llvm.
	angle  angle
	visits int
	depth  int
	bad    bool // a limit was exceeded
}

func (w *printer) text(s string) { w.out = append(w.out, s...) }

// angle counts the open brackets inside of the outermost <>.
type angle struct {
	inside   bool
	brackets int
}

// open prints an opening bracket. Up to the closing one a > is an operator.
func (w *printer) open(bracket byte) {
	if w.angle.inside {
		w.angle.brackets++
	}
	w.out = append(w.out, bracket)
}

// close prints a closing bracket.
func (w *printer) close(bracket byte) {
	if w.angle.inside {
		w.angle.brackets--
	}
	w.out = append(w.out, bracket)
}

// openAngle prints a <. Its result is the argument of closeAngle.
func (w *printer) openAngle() (outside bool) {
	outside = w.angle.inside
	w.angle.inside = true
	w.out = append(w.out, '<')
	return outside
}

func (w *printer) closeAngle(outside bool) {
	w.out = append(w.out, '>')
	w.angle.inside = outside
}

// print prints both parts of a node.
func (w *printer) print(n *node) {
	w.left(n)
	w.right(n)
}

// enter counts a visit. It returns false if a limit is exceeded, as by a name that expands to more than maxOutput.
func (w *printer) enter() bool {
	w.visits++
	w.depth++
	if w.visits > maxVisits || w.depth > maxDepth || len(w.out) > maxOutput {
		w.bad = true
	}
	return !w.bad
}

// left prints the part of a node before the declared name. Most nodes have only this part.
func (w *printer) left(n *node) {
	if w.enter() {
		switch {
		case n.kind <= suffixed:
			w.nameLeft(n)
		case n.kind <= packDecl:
			w.templateLeft(n)
		case n.kind <= bitInt:
			w.typeLeft(n)
		default:
			w.expression(n)
		}
	}
	w.depth--
}

// right prints the part of a node after the declared name.
func (w *printer) right(n *node) {
	if n.kind == word || n.kind == nested || n.kind == instance {
		return
	}
	if w.enter() {
		switch {
		case n.kind == function:
			w.functionRight(n)
		case n.kind > suffixed && n.kind <= packDecl:
			w.templateRight(n)
		case n.kind > packDecl && n.kind <= bitInt:
			w.typeRight(n)
		}
	}
	w.depth--
}

// commas prints the elements of a list, separated by commas. Elements without text, such as empty packs, have no comma.
func (w *printer) commas(list []*node) {
	first := true
	for _, n := range list {
		before := len(w.out)
		if !first {
			w.text(", ")
		}
		after := len(w.out)
		w.operand(n, precComma, false)
		if len(w.out) == after {
			w.out = w.out[:before]
			continue
		}
		first = false
	}
}

// operand prints n, in parentheses if it binds less tightly than prec or, unless strictlyWorse is set, as tightly.
func (w *printer) operand(n *node, prec precedence, strictlyWorse bool) {
	paren := n.prec >= prec
	if strictlyWorse {
		paren = n.prec > prec
	}
	if paren {
		w.open('(')
	}
	w.print(n)
	if paren {
		w.close(')')
	}
}

// parens prints a list in parentheses.
func (w *printer) parens(list []*node) {
	w.open('(')
	w.commas(list)
	w.close(')')
}

// property is a property of a type that decides how the types that refer to it are printed.
type property uint8

const (
	hasRight property = iota
	isArray
	isFunction
)

// has reports whether n has a property. It looks through qualifiers, template arguments and packs.
func (w *printer) has(n *node, what property) bool {
	for {
		if w.visits++; w.visits > maxVisits {
			w.bad = true
			return false
		}
		switch n.kind {
		case function, signature:
			return what != isArray
		case array:
			return what != isFunction
		case typeDecl, conceptDecl, valueDecl, templateDecl, packDecl:
			return what == hasRight
		case pointer, reference:
			if what != hasRight {
				return false
			}
			n = n.a
		case member:
			if what != hasRight {
				return false
			}
			n = n.b
		case qualified:
			n = n.a
		case pack:
			element := w.element(n)
			if element == nil {
				return false
			}
			n = element
		case forward:
			if n.busy || n.a == nil {
				return false
			}
			n.busy = true
			yes := w.has(n.a, what)
			n.busy = false
			return yes
		default:
			return false
		}
	}
}

// nameLeft prints names.
func (w *printer) nameLeft(n *node) {
	switch n.kind {
	case word:
		w.text(n.text)
	case nested, local:
		w.print(n.a)
		w.text("::")
		w.print(n.b)
	case friend:
		w.print(n.a)
		w.text("::friend ")
		w.print(n.b)
	case globalName:
		w.text("::")
		w.print(n.a)
	case module:
		w.module(n)
	case inModule:
		w.print(n.a)
		w.text("@")
		w.print(n.b)
	case tagged:
		w.left(n.a)
		w.text("[abi:")
		w.text(n.text)
		w.text("]")
	case standard:
		w.text(standards[n.index].string)
	case expanded:
		w.text(standards[n.index].full)
	case instance:
		w.print(n.a)
		w.print(n.b)
	case constructor:
		if n.flags&flagDestructor != 0 {
			w.text("~")
		}
		w.constructorOf(n.a)
	case conversion:
		w.text("operator ")
		w.print(n.a)
	case userLiteral:
		w.text(`operator"" `)
		w.print(n.a)
	case structuredBinding:
		w.text("[")
		w.commas(n.list)
		w.text("]")
	default:
		w.entity(n)
	}
}

// constructorOf prints the name of the constructors of a class. llvm prints none for lambdas, unnamed types, and template
// parameters whose arguments come later in the name.
func (w *printer) constructorOf(class *node) {
	if !w.llvm {
		last := class
		for last.kind == nested || last.kind == friend || last.kind == local {
			last = last.b
		}
		if last.kind == closure || last.kind == unnamed {
			w.print(last)
			return
		}
	}
	w.text(w.baseName(class))
}

// baseName returns the name of a class without its scope and template arguments, or "" if it has none.
func (w *printer) baseName(n *node) string {
	for {
		switch n.kind {
		case word:
			return n.text
		case nested, friend:
			n = n.b
		case tagged, instance, inModule, globalName:
			n = n.a
		case forward:
			if n = argumentOf(n); n.kind == forward || w.llvm {
				return ""
			}
		case standard:
			return standards[n.index].name
		case expanded:
			return standards[n.index].base
		default:
			return ""
		}
	}
}

// entity prints the other kinds of names, and functions up to their parameters.
func (w *printer) entity(n *node) {
	switch n.kind {
	case unnamed:
		w.text("'unnamed")
		w.text(n.text)
		w.text("'")
	case closure:
		w.text("'lambda")
		w.text(n.text)
		w.text("'")
		w.closureDeclarator(n)
	case function:
		if n.a != nil {
			w.left(n.a)
			if !w.has(n.a, hasRight) {
				w.text(" ")
			}
		}
		w.print(n.b)
	case explicitObject:
		w.text("this ")
		w.print(n.a)
	case special:
		w.text(n.text)
		w.print(n.a)
	case constructionVtable:
		w.text("construction vtable for ")
		w.print(n.a)
		w.text("-in-")
		w.print(n.b)
	case suffixed:
		w.print(n.a)
		w.text(" (")
		w.text(n.text)
		w.text(")")
	}
}

// module prints the name of a module. n is its last part.
func (w *printer) module(n *node) {
	if n.a != nil {
		w.print(n.a)
	}
	switch {
	case n.flags&flagPartition != 0:
		w.text(":")
	case n.a != nil:
		w.text(".")
	}
	w.text(n.text)
}

// closureDeclarator prints the template parameters, parameters and constraints of a lambda.
func (w *printer) closureDeclarator(n *node) {
	if n.a != nil {
		if len(n.a.list) > 0 {
			outside := w.openAngle()
			w.commas(n.a.list)
			w.closeAngle(outside)
		}
		if n.a.a != nil {
			w.text(" requires ")
			w.print(n.a.a)
			w.text(" ")
		}
	}
	w.parens(n.list)
	if n.b != nil {
		w.text(" requires ")
		w.print(n.b)
	}
}

// functionRight prints the part of a function after its name.
func (w *printer) functionRight(n *node) {
	w.parens(n.list)
	if n.a != nil {
		w.right(n.a)
	}
	w.qualifiers(n.flags)
	w.refQualifier(n.flags)
	if n.c == nil {
		return
	}
	if n.c.flags&flagConditions != 0 {
		w.text(" [enable_if:")
		w.commas(n.c.list)
		w.text("]")
	}
	if n.c.a != nil {
		w.text(" requires ")
		w.print(n.c.a)
	}
}

// qualifiers prints CV-qualifiers.
func (w *printer) qualifiers(f flags) {
	if f&isConst != 0 {
		w.text(" const")
	}
	if f&isVolatile != 0 {
		w.text(" volatile")
	}
	if f&isRestrict != 0 {
		w.text(" restrict")
	}
}

// refQualifier prints the ref-qualifier of a function.
func (w *printer) refQualifier(f flags) {
	if f&isLvalue != 0 {
		w.text(" &")
	}
	if f&isRvalue != 0 {
		w.text(" &&")
	}
}

// initializer prints initializer lists, and elements with designators.
func (w *printer) initializer(n *node) {
	switch n.kind {
	case braces:
		if n.a != nil {
			if w.isCharArray(n.a) && w.stringLiteral(n.list) {
				return
			}
			w.print(n.a)
		}
		w.text("{")
		w.commas(n.list)
		w.text("}")
	case designated:
		if n.flags&flagArray != 0 {
			w.text("[")
			w.print(n.a)
			w.text("]")
		} else {
			w.text(".")
			w.print(n.a)
		}
		w.initialValue(n.b)
	case ranged:
		w.text("[")
		w.print(n.a)
		w.text(" ... ")
		w.print(n.b)
		w.text("]")
		w.initialValue(n.c)
	}
}

// initialValue prints the value of an element with a designator. There is no = between designators.
func (w *printer) initialValue(n *node) {
	if n.kind != designated && n.kind != ranged {
		w.text(" = ")
	}
	w.print(n)
}

// requirement prints requires-expressions and their requirements.
func (w *printer) requirement(n *node) {
	switch n.kind {
	case requires:
		w.text("requires")
		if n.a != nil && len(n.a.list) > 0 {
			w.text(" ")
			w.parens(n.a.list)
		}
		w.text(" ")
		w.open('{')
		for _, r := range n.list {
			w.print(r)
		}
		w.text(" ")
		w.close('}')
	case requirement:
		braced := n.flags&flagNoexcept != 0 || n.b != nil
		w.text(" ")
		if braced {
			w.open('{')
		}
		w.print(n.a)
		if braced {
			w.close('}')
		}
		if n.flags&flagNoexcept != 0 {
			w.text(" noexcept")
		}
		if n.b != nil {
			w.text(" -> ")
			w.print(n.b)
		}
		w.text(";")
	case typeRequirement:
		w.text(" typename ")
		w.print(n.a)
		w.text(";")
	case nestedRequirement:
		w.text(" requires ")
		w.print(n.a)
		w.text(";")
	}
}

// isCharArray reports whether a type is an array of char, of any length.
func (w *printer) isCharArray(n *node) bool {
	if n = argumentOf(n); n.kind != array {
		return false
	}
	of := argumentOf(n.a)
	return of == builtins['c'] || w.llvm && of.kind == word && of.text == "char"
}

// stringLiteral prints the elements of an array of char as a string literal. If an element is not an integer from 0 to 255, it
// prints nothing and returns false.
func (w *printer) stringLiteral(elements []*node) bool {
	for _, n := range elements {
		if n.kind != integer {
			return false
		}
		if _, err := strconv.ParseUint(n.text, 10, 8); err != nil {
			return false
		}
	}
	w.out = append(w.out, '"')
	escaped := false
	for _, n := range elements {
		c, _ := strconv.ParseUint(n.text, 10, 8)
		escaped = w.character(byte(c), escaped)
	}
	w.out = append(w.out, '"')
	return true
}

// shortEscapes are the letters of the escape sequences of the characters from 7 on.
const shortEscapes = "abtnvfr"

// character prints one character of a string literal and reports whether it printed a numeric escape sequence. A hexadecimal
// digit after such a sequence would be part of it, so the literal is split there.
func (w *printer) character(c byte, escaped bool) bool {
	switch {
	case c < 7:
		w.out = append(w.out, '\\', '0'+c)
		return true
	case c < 7+byte(len(shortEscapes)):
		w.out = append(w.out, '\\', shortEscapes[c-7])
	case c < ' ' || c == 0x7f:
		const hex = "0123456789ABCDEF"
		w.text("\\x")
		if c >= 16 {
			w.out = append(w.out, hex[c>>4])
		}
		w.out = append(w.out, hex[c&15])
		return true
	default:
		if c == '"' || c == '\\' {
			w.out = append(w.out, '\\')
		}
		if escaped && isHex(c) {
			w.text(`""`)
		}
		w.out = append(w.out, c)
	}
	return false
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
