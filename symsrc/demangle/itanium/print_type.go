package itanium

// typeLeft prints the part of a type before the name that it declares.
func (w *printer) typeLeft(n *node) {
	switch n.kind {
	case qualified:
		w.left(n.a)
		q := n.flags
		if !w.llvm {
			if under := w.target(n.a); under.kind == qualified {
				q &^= under.flags // which have been printed
			}
		}
		w.qualifiers(q)
	case vendor:
		w.print(n.a)
		w.text(" ")
		w.text(n.text)
		if n.b != nil {
			w.print(n.b)
		}
	case objcProtocol:
		w.print(n.a)
		w.text("<")
		w.text(n.text)
		w.text(">")
	case postfixed:
		w.left(n.a)
		w.text(n.text)
	case elaborated:
		w.text(n.text)
		w.text(" ")
		w.print(n.a)
	case transformed:
		w.text(n.text)
		w.text("(")
		w.print(n.a)
		w.text(")")
	case pointer:
		w.pointerLeft(n)
	case reference:
		w.referenceLeft(n)
	case member:
		w.left(n.b)
		if w.has(n.b, isArray) || w.has(n.b, isFunction) {
			w.text("(")
		} else {
			w.text(" ")
		}
		w.print(n.a)
		w.text("::*")
	case array:
		w.left(n.a)
	case vector:
		w.print(n.a)
		w.text(" vector[")
		if n.b != nil {
			w.print(n.b)
		}
		w.text("]")
	case pixelVector:
		w.text("pixel vector[")
		w.print(n.a)
		w.text("]")
	case signature:
		w.left(n.a)
		if w.llvm || !w.has(n.a, hasRight) {
			w.text(" ")
		}
	case throwSpec:
		w.text("throw")
		w.parens(n.list)
	case noexceptSpec:
		w.text("noexcept")
		w.open('(')
		w.operand(n.a, precDefault, false)
		w.close(')')
	case bitInt:
		if n.flags&flagUnsigned != 0 {
			w.text("unsigned ")
		}
		w.text("_BitInt")
		w.open('(')
		w.operand(n.a, precDefault, false)
		w.close(')')
	}
}

// typeRight prints the part of a type after the name that it declares.
func (w *printer) typeRight(n *node) {
	switch n.kind {
	case qualified:
		w.right(n.a)
	case pointer:
		if w.has(n.a, isArray) || w.has(n.a, isFunction) {
			w.text(")")
		}
		w.right(n.a)
	case reference:
		w.referenceRight(n)
	case member:
		if w.has(n.b, isArray) || w.has(n.b, isFunction) {
			w.text(")")
		}
		w.right(n.b)
	case array:
		if len(w.out) == 0 || w.out[len(w.out)-1] != ']' {
			w.text(" ")
		}
		w.text("[")
		if n.b != nil {
			w.print(n.b)
		}
		w.text("]")
		w.right(n.a)
	case signature:
		w.parens(n.list)
		w.right(n.a)
		w.text(n.text)
		w.qualifiers(n.flags)
		w.refQualifier(n.flags)
		if n.b != nil {
			w.text(" ")
			w.print(n.b)
		}
	}
}

// pointerLeft prints a pointer. A pointer to an Objective-C object with a protocol P is `id<P>`.
func (w *printer) pointerLeft(n *node) {
	if to := argumentOf(n.a); to.kind == objcProtocol && to.a.kind == word && to.a.text == "objc_object" {
		w.text("id<")
		w.text(to.text)
		w.text(">")
		return
	}
	w.left(n.a)
	w.bindLeft(n.a)
	w.text("*")
}

// bindLeft prints the opening parenthesis around a pointer or reference to n if n is an array or a function.
func (w *printer) bindLeft(n *node) {
	inArray := w.has(n, isArray)
	if inArray {
		w.text(" ")
	}
	if inArray || w.has(n, isFunction) {
		w.text("(")
	}
}

// referenceLeft prints a reference. References to references are collapsed.
func (w *printer) referenceLeft(n *node) {
	if n.busy {
		return
	}
	n.busy = true
	if to, rvalue := w.collapse(n); to != nil {
		w.left(to)
		w.bindLeft(to)
		if rvalue {
			w.text("&&")
		} else {
			w.text("&")
		}
	}
	n.busy = false
}

func (w *printer) referenceRight(n *node) {
	if n.busy {
		return
	}
	n.busy = true
	if to, _ := w.collapse(n); to != nil {
		if w.has(to, isArray) || w.has(to, isFunction) {
			w.text(")")
		}
		w.right(to)
	}
	n.busy = false
}

// collapse applies reference collapsing: it returns the referenced type, and whether all references are rvalue references. It
// returns nil if the references form a cycle.
func (w *printer) collapse(n *node) (to *node, rvalue bool) {
	to, rvalue = n.a, n.flags&flagRvalue != 0
	var seen []*node
	for {
		under := w.target(to)
		if under.kind != reference {
			return to, rvalue
		}
		to = under.a
		rvalue = rvalue && under.flags&flagRvalue != 0
		// Floyd's cycle detection: the middle one of those seen moves at half the speed.
		seen = append(seen, to)
		if len(seen) > 1 && to == seen[(len(seen)-1)/2] {
			return nil, false
		}
		if len(seen) > maxName {
			w.bad = true
			return nil, false
		}
	}
}

// target returns the type that n refers to if it is a template parameter or a pack; otherwise n.
func (w *printer) target(n *node) *node {
	var passed []*node
	defer func() {
		for _, f := range passed {
			f.busy = false
		}
	}()
	for {
		switch n.kind {
		case forward:
			if n.busy || n.a == nil {
				return n
			}
			n.busy = true
			passed = append(passed, n)
			n = n.a
		case pack:
			element := w.element(n)
			if element == nil {
				return n
			}
			n = element
		default:
			return n
		}
	}
}

// templateLeft prints template arguments, and the part of template parameters before their names.
func (w *printer) templateLeft(n *node) {
	switch n.kind {
	case arguments:
		outside := w.openAngle()
		w.commas(n.list)
		w.closeAngle(outside)
	case argumentPack:
		w.commas(n.list)
	case pack:
		if element := w.element(n); element != nil {
			w.left(element)
		}
	case declared:
		w.print(n.a)
	case invented:
		w.text(n.text)
	case expansion:
		w.expand(n.a)
	case forward:
		w.resolved(n, w.left)
	case typeDecl:
		w.text("typename ")
	case conceptDecl:
		w.print(n.b)
		w.text(" ")
	case valueDecl:
		w.left(n.b)
		if !w.has(n.b, hasRight) {
			w.text(" ")
		}
	case templateDecl:
		w.text("template")
		outside := w.openAngle()
		w.commas(n.list)
		w.closeAngle(outside)
		w.text(" typename ")
	case packDecl:
		w.left(n.a)
		w.text("...")
	}
}

// templateRight prints the names of template parameters, and the right part of the arguments that nodes refer to.
func (w *printer) templateRight(n *node) {
	switch n.kind {
	case pack:
		if element := w.element(n); element != nil {
			w.right(element)
		}
	case forward:
		w.resolved(n, w.right)
	case typeDecl, conceptDecl:
		w.print(n.a)
	case valueDecl:
		w.print(n.a)
		w.right(n.b)
	case templateDecl:
		w.print(n.a)
		if n.b != nil {
			w.text(" requires ")
			w.print(n.b)
		}
	case packDecl:
		w.right(n.a)
	}
}

// resolved prints the argument of a template parameter, unless it is being printed already.
func (w *printer) resolved(n *node, write func(*node)) {
	if n.busy || n.a == nil {
		return
	}
	n.busy = true
	write(n.a)
	n.busy = false
}

// element returns the element of a pack at the current index, or nil if the pack is shorter. The first pack of an expansion
// sets the number of elements.
func (w *printer) element(n *node) *node {
	if w.packCount == noPack {
		w.packCount, w.packIndex = len(n.list), 0
	}
	if w.packIndex < len(n.list) {
		return n.list[w.packIndex]
	}
	return nil
}

// expand prints n once for each element of the packs in it. If it contains none, it expands a pack of function parameters.
func (w *printer) expand(n *node) {
	index, count := w.packIndex, w.packCount
	w.packIndex, w.packCount = noPack, noPack
	from := len(w.out)
	w.print(n)
	switch w.packCount {
	case noPack:
		w.text("...")
	case 0:
		w.out = w.out[:from]
	}
	for i := 1; i < w.packCount && !w.bad; i++ {
		w.text(", ")
		w.packIndex = i
		w.print(n)
	}
	w.packIndex, w.packCount = index, count
}
