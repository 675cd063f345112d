package msvc

import "strconv"

// omissions says what is left out.
type omissions uint8

const (
	onlyParams   omissions = 1 << iota // access, static and virtual, result
	noConvention                       // calling convention
)

// writer writes readable forms. Each byte is taken off left; below 0, nothing is written any more.
type writer struct {
	out  []byte
	left *int
}

func (w *writer) add(s string) {
	if *w.left -= len(s); *w.left > 0 {
		w.out = append(w.out, s...)
	}
}

// space parts words.
func (w *writer) space() {
	if n := len(w.out); n > 0 {
		switch c := w.out[n-1]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '>':
			w.add(" ")
		}
	}
}

func (w *writer) symbol(s *symbol, how omissions) {
	switch s.kind {
	case verbatim:
		w.add(s.text)
	case untyped:
		w.name(s.name, how)
	case variable:
		if how&onlyParams == 0 {
			w.add(s.access)
		}
		w.before(s.typ, how)
		w.space()
		w.name(s.name, how)
		w.after(s.typ, how)
	case functionSymbol:
		w.before(s.typ, how)
		w.space()
		w.name(s.name, how)
		w.after(s.typ, how)
	case tableSymbol:
		if w.quals(s.quals, ""); s.quals != 0 {
			w.add(" ")
		}
		w.name(s.name, how)
		for i, target := range s.targets {
			if i == 0 {
				w.add("{for `")
			} else {
				w.add("s `")
			}
			w.name(target, how)
			w.add("'")
		}
		if len(s.targets) > 0 {
			w.add("}")
		}
	}
}

// quals writes qualifiers with a space between; before says what stands before the first.
func (w *writer) quals(q qualifiers, before string) {
	for _, k := range [...]struct {
		bit  qualifiers
		text string
	}{{constQual, "const"}, {volatile, "volatile"}, {restrict, "__restrict"}} {
		if q&k.bit != 0 {
			w.add(before)
			w.add(k.text)
			before = " "
		}
	}
}

// whole writes a type that has no name within.
func (w *writer) whole(t *typeNode, how omissions) {
	w.before(t, how)
	w.after(t, how)
}

// before writes what stands before the name that has the type.
func (w *writer) before(t *typeNode, how omissions) {
	if *w.left <= 0 {
		return
	}
	switch t.form {
	case plain:
		w.add(t.text)
		w.quals(t.quals, " ")
	case tag:
		w.add(t.text)
		w.name(t.name, how)
		w.quals(t.quals, " ")
	case custom:
		w.name(t.name, how)
	case array:
		w.before(t.elem, how)
		w.quals(t.quals, " ")
	case function:
		w.beforeFunction(t, how)
	case pointerTo:
		w.beforePointer(t, how)
	}
}

func (w *writer) beforePointer(t *typeNode, how omissions) {
	if t.elem.form == function {
		w.before(t.elem, noConvention) // which goes inside the parentheses
	} else {
		w.before(t.elem, how)
	}
	w.space()
	if t.quals&unaligned != 0 {
		w.add("__unaligned ")
	}
	switch t.elem.form {
	case array:
		w.add("(")
	case function:
		w.add("(")
		w.add(t.elem.sig.convention)
		w.add(" ")
	}
	if t.owner != nil {
		w.name(t.owner, how)
		w.add("::")
	}
	w.add(t.text)
	w.quals(t.quals, "")
}

func (w *writer) beforeFunction(t *typeNode, how omissions) {
	c := t.sig.class
	if t.sig.thunk {
		w.add("[thunk]: ")
	}
	if how&onlyParams == 0 {
		switch {
		case c&public != 0:
			w.add("public: ")
		case c&protected != 0:
			w.add("protected: ")
		case c&private != 0:
			w.add("private: ")
		}
		if c&staticMember != 0 && c&global == 0 {
			w.add("static ")
		}
		if c&virtual != 0 {
			w.add("virtual ")
		}
		if c&externC != 0 {
			w.add(`extern "C" `)
		}
		if t.elem != nil {
			w.before(t.elem, how)
			w.add(" ")
		}
	}
	if how&noConvention == 0 {
		w.add(t.sig.convention)
	}
}

// after writes what stands after the name that has the type.
func (w *writer) after(t *typeNode, how omissions) {
	if *w.left <= 0 {
		return
	}
	switch t.form {
	case pointerTo:
		if t.elem.form == array || t.elem.form == function {
			w.add(")")
		}
		w.after(t.elem, how)
	case array:
		for _, n := range t.dims {
			w.add("[")
			if n != 0 {
				w.add(strconv.FormatUint(n, 10))
			}
			w.add("]")
		}
		w.after(t.elem, how)
	case function:
		w.afterFunction(t, how)
	}
}

func (w *writer) afterFunction(t *typeNode, how omissions) {
	s := t.sig
	w.add(s.adjust)
	if s.class&bare == 0 {
		w.params(s, how)
	}
	w.quals(t.quals, " ")
	if t.quals&unaligned != 0 {
		w.add(" __unaligned")
	}
	if s.noexcept {
		w.add(" noexcept")
	}
	w.add(s.ref)
	if how&onlyParams == 0 && t.elem != nil {
		w.after(t.elem, how)
	}
}

func (w *writer) params(s *signature, how omissions) {
	w.add("(")
	if s.void {
		w.add("void")
	}
	for i, param := range s.params {
		if i > 0 {
			w.add(", ")
		}
		w.whole(param, how)
	}
	if s.variadic {
		if len(s.params) > 0 {
			w.add(", ")
		}
		w.add("...")
	}
	w.add(")")
}

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
