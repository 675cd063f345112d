package msvc

import "strconv"

func (w *writer) name(n nameNode, how omissions) {
	for i, id := range n {
		if i > 0 {
			w.add("::")
		}
		w.ident(id, how)
	}
}

func (w *writer) ident(id *ident, how omissions) {
	if *w.left <= 0 {
		return
	}
	switch id.role {
	case named:
		w.add(id.text)
		w.args(id, how)
	case structor:
		w.add(id.text)
		if id.class != nil {
			w.ident(id.class, how)
		}
		w.args(id, how)
	case conversion:
		w.add("operator")
		w.args(id, how)
		w.add(" ")
		if id.target != nil {
			w.whole(id.target, how)
		}
	case stub:
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
func (w *writer) args(id *ident, how omissions) {
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

func (w *writer) arg(a *arg, how omissions) {
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
