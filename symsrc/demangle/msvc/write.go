package msvc

import "strconv"

// omissions is the set of parts of a function that are not printed.
type omissions uint8

const (
	onlyParams   omissions = 1 << iota // access specifier, static and virtual, return type
	noConvention                       // calling convention
)

// writer writes readable forms. Each byte is subtracted from budget; nothing more is written when it is exhausted.
type writer struct {
	out    []byte
	budget *int
}

func (w *writer) add(s string) {
	if *w.budget -= len(s); *w.budget > 0 {
		w.out = append(w.out, s...)
	}
}

// space writes a space if the last byte ends a word.
func (w *writer) space() {
	if n := len(w.out); n > 0 {
		switch c := w.out[n-1]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '>':
			w.add(" ")
		}
	}
}

func (w *writer) symbol(s *symbol, omit omissions) {
	switch s.kind {
	case verbatim:
		w.add(s.text)
	case untyped:
		w.name(s.name, omit)
	case variable:
		if omit&onlyParams == 0 {
			w.add(s.access)
		}
		w.before(s.typ, omit)
		w.space()
		w.name(s.name, omit)
		w.after(s.typ, omit)
	case functionSymbol:
		w.before(s.typ, omit)
		w.space()
		w.name(s.name, omit)
		w.after(s.typ, omit)
	case tableSymbol:
		if w.quals(s.quals, ""); s.quals != 0 {
			w.add(" ")
		}
		w.name(s.name, omit)
		for i, target := range s.targets {
			if i == 0 {
				w.add("{for `")
			} else {
				w.add("s `")
			}
			w.name(target, omit)
			w.add("'")
		}
		if len(s.targets) > 0 {
			w.add("}")
		}
	}
}

// quals writes qualifiers separated by spaces, with before preceding the first one.
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

// typ writes a type that does not declare a name.
func (w *writer) typ(t *typeNode, omit omissions) {
	w.before(t, omit)
	w.after(t, omit)
}

// before writes the part of a type before the declared name.
func (w *writer) before(t *typeNode, omit omissions) {
	if *w.budget <= 0 {
		return
	}
	switch t.form {
	case plain:
		w.add(t.text)
		w.quals(t.quals, " ")
	case tag:
		w.add(t.text)
		w.name(t.name, omit)
		w.quals(t.quals, " ")
	case custom:
		w.name(t.name, omit)
	case array:
		w.before(t.elem, omit)
		w.quals(t.quals, " ")
	case function:
		w.beforeFunction(t, omit)
	case pointerTo:
		w.beforePointer(t, omit)
	}
}

func (w *writer) beforePointer(t *typeNode, omit omissions) {
	if t.elem.form == function {
		w.before(t.elem, noConvention) // which is written inside the parentheses
	} else {
		w.before(t.elem, omit)
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
		w.name(t.owner, omit)
		w.add("::")
	}
	w.add(t.text)
	w.quals(t.quals, "")
}

func (w *writer) beforeFunction(t *typeNode, omit omissions) {
	c := t.sig.class
	if t.sig.thunk {
		w.add("[thunk]: ")
	}
	if omit&onlyParams == 0 {
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
			w.before(t.elem, omit)
			w.add(" ")
		}
	}
	if omit&noConvention == 0 {
		w.add(t.sig.convention)
	}
}

// after writes the part of a type after the declared name.
func (w *writer) after(t *typeNode, omit omissions) {
	if *w.budget <= 0 {
		return
	}
	switch t.form {
	case pointerTo:
		if t.elem.form == array || t.elem.form == function {
			w.add(")")
		}
		w.after(t.elem, omit)
	case array:
		for _, n := range t.dims {
			w.add("[")
			if n != 0 {
				w.add(strconv.FormatUint(n, 10))
			}
			w.add("]")
		}
		w.after(t.elem, omit)
	case function:
		w.afterFunction(t, omit)
	}
}

func (w *writer) afterFunction(t *typeNode, omit omissions) {
	s := t.sig
	w.add(s.adjust)
	if s.class&noParamList == 0 {
		w.params(s, omit)
	}
	w.quals(t.quals, " ")
	if t.quals&unaligned != 0 {
		w.add(" __unaligned")
	}
	if s.noexcept {
		w.add(" noexcept")
	}
	w.add(s.ref)
	if omit&onlyParams == 0 && t.elem != nil {
		w.after(t.elem, omit)
	}
}

func (w *writer) params(s *signature, omit omissions) {
	w.add("(")
	if s.void {
		w.add("void")
	}
	for i, param := range s.params {
		if i > 0 {
			w.add(", ")
		}
		w.typ(param, omit)
	}
	if s.variadic {
		if len(s.params) > 0 {
			w.add(", ")
		}
		w.add("...")
	}
	w.add(")")
}

func (w *writer) name(n nameNode, omit omissions) {
	for i, id := range n {
		if i > 0 {
			w.add("::")
		}
		w.ident(id, omit)
	}
}

func (w *writer) ident(id *ident, omit omissions) {
	if *w.budget <= 0 {
		return
	}
	switch id.role {
	case named:
		w.add(id.text)
		w.args(id, omit)
	case structor:
		w.add(id.text)
		if id.class != nil {
			w.ident(id.class, omit)
		}
		w.args(id, omit)
	case conversion:
		w.add("operator")
		w.args(id, omit)
		w.add(" ")
		if id.target != nil {
			w.typ(id.target, omit)
		}
	case stub:
		w.add(id.text)
		if id.of != nil {
			w.add("`")
			w.symbol(id.of, omit)
		} else {
			w.add("'")
			w.name(id.name, omit)
		}
		w.add("''")
	}
}

// args writes the arguments of a template.
func (w *writer) args(id *ident, omit omissions) {
	if !id.isTmpl {
		return
	}
	w.add("<")
	for i := range id.args {
		if i > 0 {
			w.add(", ")
		}
		w.arg(&id.args[i], omit)
	}
	w.add(">")
}

func (w *writer) arg(a *arg, omit omissions) {
	switch {
	case a.typ != nil:
		w.typ(a.typ, omit)
		return
	case a.name != nil:
		w.name(a.name, omit)
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
		if w.symbol(a.sym, omit); len(a.offsets) > 0 {
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
