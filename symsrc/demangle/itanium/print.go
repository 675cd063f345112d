package itanium

// noPack is the index and count of packs outside of an expansion.
const noPack = -1

// printer writes a graph. What C++ writes around a declared name stands in two pieces: `int (*` and `)[3]` of a pointer to
// an array. left writes the first and right the second one.
type printer struct {
	out  []byte
	llvm bool // see parser
	// packIndex is which element of packs is being written, packCount how many the first pack of the expansion has.
	packIndex, packCount int
	// angle says whether template arguments are being written, in which a > needs parentheses unless brackets protect it.
	// llvm gives it some outside of them, too.
	angle  angle
	visits int
	depth  int
	bad    bool // a bound was reached
}

func (w *printer) text(s string) { w.out = append(w.out, s...) }

// angle counts the brackets that are open within the outermost <>.
type angle struct {
	inside   bool
	brackets int
}

// open and close write brackets, in which a > is an operator.
func (w *printer) open(bracket byte) {
	if w.angle.inside {
		w.angle.brackets++
	}
	w.out = append(w.out, bracket)
}

func (w *printer) close(bracket byte) {
	if w.angle.inside {
		w.angle.brackets--
	}
	w.out = append(w.out, bracket)
}

// openAngle writes a <. Its result goes to closeAngle.
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

// print writes the whole of a node.
func (w *printer) print(n *node) {
	w.left(n)
	w.right(n)
}

// enter counts a visit, against names that unfold to more than can be written. It is false where that was enough.
func (w *printer) enter() bool {
	w.visits++
	w.depth++
	if w.visits > maxVisits || w.depth > maxDepth || len(w.out) > maxOutput {
		w.bad = true
	}
	return !w.bad
}

// left writes what stands before a declared name. Most nodes have nothing else.
func (w *printer) left(n *node) {
	if w.enter() {
		switch {
		case n.kind <= suffixed:
			w.nameLeft(n)
		case n.kind <= packDecl:
			w.templateLeft(n)
		case n.kind <= bitInteger:
			w.typeLeft(n)
		default:
			w.expression(n)
		}
	}
	w.depth--
}

// right writes what stands after a declared name.
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
		case n.kind > packDecl && n.kind <= bitInteger:
			w.typeRight(n)
		}
	}
	w.depth--
}

// commas writes the elements of a list. Those that write nothing, as empty packs do, have no comma.
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

// operand writes n, in parentheses if it binds less than or, unless it must be worse, as prec.
func (w *printer) operand(n *node, prec precedence, worse bool) {
	paren := n.prec >= prec
	if worse {
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

// parens writes a list in parentheses.
func (w *printer) parens(list []*node) {
	w.open('(')
	w.commas(list)
	w.close(')')
}

// property is what the writing of what stands around a node depends on.
type property uint8

const (
	hasRight property = iota
	isArray
	isFunction
)

// has reports whether n has a property, looking through qualifiers, references to template arguments, and packs.
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
