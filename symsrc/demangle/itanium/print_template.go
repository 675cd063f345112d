package itanium

// templateLeft writes template arguments and parameters.
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

// templateRight writes the names of template parameters, and what follows the arguments that others stand for.
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

// resolved writes the argument of a forward reference, unless that is being written already.
func (w *printer) resolved(n *node, write func(*node)) {
	if n.busy || n.a == nil {
		return
	}
	n.busy = true
	write(n.a)
	n.busy = false
}

// element is that element of a pack whose turn it is, nil if the pack has not so many. The first pack of an expansion
// decides how many there are.
func (w *printer) element(n *node) *node {
	if w.packCount == noPack {
		w.packCount, w.packIndex = len(n.list), 0
	}
	if w.packIndex < len(n.list) {
		return n.list[w.packIndex]
	}
	return nil
}

// expand writes n for each element of the packs in it. Where there is none, it is the pack of a function's parameters.
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
