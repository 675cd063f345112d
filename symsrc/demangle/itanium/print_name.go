package itanium

// nameLeft writes names.
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
	case bindings:
		w.text("[")
		w.commas(n.list)
		w.text("]")
	default:
		w.entity(n)
	}
}

// constructorOf writes the name of a class that its constructors have. llvm writes none for lambdas, unnamed types, and template
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

// baseName returns the name of a class without its scope and arguments, as its constructors have it; some have none.
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

// entity writes what has a name of its own kind, and functions up to their parameters.
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
	case object:
		w.text("this ")
		w.print(n.a)
	case special:
		w.text(n.text)
		w.print(n.a)
	case inVtable:
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

// module writes a module's name, of which n is the last part.
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

// closureDeclarator writes the template parameters, parameters and constraints of a lambda.
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

// functionRight writes what follows a function's name.
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

// qualifiers writes CV qualifiers.
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

// refQualifier writes that of a function.
func (w *printer) refQualifier(f flags) {
	if f&isLvalue != 0 {
		w.text(" &")
	}
	if f&isRvalue != 0 {
		w.text(" &&")
	}
}
