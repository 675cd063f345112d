package symsrc

import "strconv"

func (w *msWriter) name(n msName, how msHow) {
	for i, id := range n {
		if i > 0 {
			w.add("::")
		}
		w.ident(id, how)
	}
}

func (w *msWriter) ident(id *msIdent, how msHow) {
	if *w.left <= 0 {
		return
	}
	switch id.role {
	case msNamed:
		w.add(id.text)
		w.args(id, how)
	case msStructor:
		w.add(id.text)
		if id.class != nil {
			w.ident(id.class, how)
		}
		w.args(id, how)
	case msConversion:
		w.add("operator")
		w.args(id, how)
		w.add(" ")
		if id.target != nil {
			w.whole(id.target, how)
		}
	case msStub:
		w.add(id.text)
		if id.of != nil {
			w.add("`")
			w.symbol(id.of, how)
		} else {
			w.add("'")
			w.name(id.name, how)
		}
		w.add("''")
	}
}

// args writes the arguments of a template.
func (w *msWriter) args(id *msIdent, how msHow) {
	if !id.isTmpl {
		return
	}
	w.add("<")
	for i := range id.args {
		if i > 0 {
			w.add(", ")
		}
		w.arg(&id.args[i], how)
	}
	w.add(">")
}

func (w *msWriter) arg(a *msArg, how msHow) {
	switch {
	case a.typ != nil:
		w.whole(a.typ, how)
		return
	case a.name != nil:
		w.name(a.name, how)
		return
	case a.text != "":
		w.add(a.text)
		return
	case len(a.offsets) > 0:
		w.add("{")
	case a.pointer:
		w.add("&")
	}
	if a.sym != nil {
		if w.symbol(a.sym, how); len(a.offsets) > 0 {
			w.add(", ")
		}
	}
	for i, n := range a.offsets {
		if i > 0 {
			w.add(", ")
		}
		w.add(strconv.FormatInt(n, 10))
	}
	if len(a.offsets) > 0 {
		w.add("}")
	}
}
