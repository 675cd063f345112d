package itanium

// expression writes expressions and literals.
func (w *printer) expression(n *node) {
	switch n.kind {
	case binary, prefix, postfix, subscript, memberOf, conditional, fold:
		w.operation(n)
	case call, newExpr, deleteExpr, cCast, cast, toMember, thrown, subobject:
		w.action(n)
	case braces, designated, ranged:
		w.initializer(n)
	case requires, requirement, typeWanted, needed:
		w.requirement(n)
	case integer, enumLit, stringIn, float:
		w.literal(n)
	case enclosing:
		w.text(n.text)
		w.open('(')
		w.print(n.a)
		w.close(')')
	case list:
		w.commas(n.list)
	case packSize:
		w.text("sizeof...")
		w.open('(')
		w.expand(n.a)
		w.close(')')
	case lambdaExpr:
		w.text("[]")
		if n.a.kind == closure {
			w.closureDeclarator(n.a)
		}
		w.text("{...}")
	case parameter:
		w.text("fp")
		w.text(n.text)
	case destructor:
		w.text("~")
		w.left(n.a)
	}
}

// operation writes operators between operands.
func (w *printer) operation(n *node) {
	switch n.kind {
	case binary:
		w.binary(n)
	case prefix:
		w.text(n.text)
		w.operand(n.a, n.prec, false)
	case postfix:
		w.operand(n.a, n.prec, true)
		w.text(n.text)
	case subscript:
		w.operand(n.a, n.prec, false)
		w.open('[')
		w.operand(n.b, precDefault, false)
		w.close(']')
	case memberOf:
		w.operand(n.a, n.prec, true)
		w.text(n.text)
		w.operand(n.b, n.prec, false)
	case conditional:
		w.operand(n.a, n.prec, false)
		w.text(" ? ")
		w.operand(n.b, precDefault, false)
		w.text(" : ")
		w.operand(n.c, precAssign, true)
	case fold:
		w.fold(n)
	}
}

// binary writes a binary operator. Assignments are of the right, and a > would end template arguments.
func (w *printer) binary(n *node) {
	paren := w.angle.brackets == 0 && (n.text == ">" || n.text == ">>")
	if paren {
		w.open('(')
	}
	assignment := n.prec == precAssign
	if assignment {
		w.operand(n.a, precOrIf, false)
	} else {
		w.operand(n.a, n.prec, true)
	}
	if n.text != "," {
		w.text(" ")
	}
	w.text(n.text)
	w.text(" ")
	w.operand(n.b, n.prec, assignment)
	if paren {
		w.close(')')
	}
}

// fold writes `(pack op ... op operand)` to the right, `(operand op ... op pack)` to the left; the operand may be missing.
func (w *printer) fold(n *node) {
	left := n.flags&flagLeft != 0
	side := func(ofPack bool) {
		if !ofPack {
			w.operand(n.b, precCast, true)
			return
		}
		w.open('(')
		w.expand(n.a)
		w.close(')')
	}
	w.open('(')
	if !left || n.b != nil {
		side(!left)
		w.text(" ")
		w.text(n.text)
		w.text(" ")
	}
	w.text("...")
	if left || n.b != nil {
		w.text(" ")
		w.text(n.text)
		w.text(" ")
		side(left)
	}
	w.close(')')
}

// action writes calls, casts, and the words that are written like them.
func (w *printer) action(n *node) {
	if (n.kind == newExpr || n.kind == deleteExpr) && n.flags&flagGlobal != 0 {
		w.text("::")
	}
	switch n.kind {
	case call:
		if n.flags&flagParen != 0 {
			w.inParens(n.a)
		} else {
			w.print(n.a)
		}
		w.parens(n.list)
	case newExpr:
		w.text("new")
		w.arrayMark(n)
		if len(n.a.list) > 0 {
			w.parens(n.a.list)
		}
		w.text(" ")
		w.print(n.b)
		if len(n.c.list) > 0 {
			w.parens(n.c.list)
		}
	case deleteExpr:
		w.text("delete")
		w.arrayMark(n)
		w.text(" ")
		w.print(n.a)
	case cCast:
		w.inParens(n.a)
		w.parens(n.list)
	case cast:
		w.text(n.text)
		outside := w.openAngle()
		w.left(n.a)
		if !w.llvm {
			w.right(n.a)
		}
		w.closeAngle(outside)
		w.inParens(n.b)
	case toMember:
		w.inParens(n.a)
		w.inParens(n.b)
	case thrown:
		w.text("throw ")
		w.print(n.a)
	case subobject:
		w.print(n.a)
		w.text(".<")
		w.print(n.b)
		w.text(" at offset ")
		if n.text == "" {
			w.text("0")
		}
		w.signed(n.text)
		w.text(">")
	}
}

// inParens writes n in parentheses.
func (w *printer) inParens(n *node) {
	w.open('(')
	w.print(n)
	w.close(')')
}

// arrayMark writes the brackets of the operators new and delete for arrays.
func (w *printer) arrayMark(n *node) {
	if n.flags&flagArray != 0 {
		w.text("[]")
	}
}
