package itanium

// initializer writes initialiser lists, and elements that say what they initialise.
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
		w.initial(n.b)
	case ranged:
		w.text("[")
		w.print(n.a)
		w.text(" ... ")
		w.print(n.b)
		w.text("]")
		w.initial(n.c)
	}
}

// initial writes the value of an element; designators follow one another without a sign.
func (w *printer) initial(n *node) {
	if n.kind != designated && n.kind != ranged {
		w.text(" = ")
	}
	w.print(n)
}

// requirement writes requires-expressions and what they demand.
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
		for _, demand := range n.list {
			w.print(demand)
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
	case typeWanted:
		w.text(" typename ")
		w.print(n.a)
		w.text(";")
	case needed:
		w.text(" requires ")
		w.print(n.a)
		w.text(";")
	}
}
