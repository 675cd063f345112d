package symsrc

import "strconv"

// msHow says what is left out.
type msHow uint8

const (
	msBrief        msHow = 1 << iota // access, static and virtual, result
	msNoConvention                   // calling convention
)

// msWriter writes readable forms. Each byte is taken off left; below 0, nothing is written any more.
type msWriter struct {
	out  []byte
	left *int
}

func (w *msWriter) add(s string) {
	if *w.left -= len(s); *w.left > 0 {
		w.out = append(w.out, s...)
	}
}

// space parts words.
func (w *msWriter) space() {
	if n := len(w.out); n > 0 {
		switch c := w.out[n-1]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '>':
			w.add(" ")
		}
	}
}

func (w *msWriter) symbol(s *msSymbol, how msHow) {
	switch s.kind {
	case msVerbatim:
		w.add(s.text)
	case msUntyped:
		w.name(s.name, how)
	case msVariable:
		if how&msBrief == 0 {
			w.add(s.access)
		}
		w.before(s.typ, how)
		w.space()
		w.name(s.name, how)
		w.after(s.typ, how)
	case msFunc:
		w.before(s.typ, how)
		w.space()
		w.name(s.name, how)
		w.after(s.typ, how)
	case msTable:
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
func (w *msWriter) quals(q msQuals, before string) {
	for _, k := range [...]struct {
		bit  msQuals
		text string
	}{{msConst, "const"}, {msVolatile, "volatile"}, {msRestrict, "__restrict"}} {
		if q&k.bit != 0 {
			w.add(before)
			w.add(k.text)
			before = " "
		}
	}
}

// whole writes a type that has no name within.
func (w *msWriter) whole(t *msType, how msHow) {
	w.before(t, how)
	w.after(t, how)
}

// before writes what stands before the name that has the type.
func (w *msWriter) before(t *msType, how msHow) {
	if *w.left <= 0 {
		return
	}
	switch t.form {
	case msPlain:
		w.add(t.text)
		w.quals(t.quals, " ")
	case msTag:
		w.add(t.text)
		w.name(t.name, how)
		w.quals(t.quals, " ")
	case msCustom:
		w.name(t.name, how)
	case msArray:
		w.before(t.elem, how)
		w.quals(t.quals, " ")
	case msFunction:
		w.beforeFunction(t, how)
	case msPointer:
		w.beforePointer(t, how)
	}
}

func (w *msWriter) beforePointer(t *msType, how msHow) {
	if t.elem.form == msFunction {
		w.before(t.elem, msNoConvention) // which goes inside the parentheses
	} else {
		w.before(t.elem, how)
	}
	w.space()
	if t.quals&msUnaligned != 0 {
		w.add("__unaligned ")
	}
	switch t.elem.form {
	case msArray:
		w.add("(")
	case msFunction:
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

func (w *msWriter) beforeFunction(t *msType, how msHow) {
	c := t.sig.class
	if t.sig.thunk {
		w.add("[thunk]: ")
	}
	if how&msBrief == 0 {
		switch {
		case c&msPublic != 0:
			w.add("public: ")
		case c&msProtected != 0:
			w.add("protected: ")
		case c&msPrivate != 0:
			w.add("private: ")
		}
		if c&msStatic != 0 && c&msGlobal == 0 {
			w.add("static ")
		}
		if c&msVirtual != 0 {
			w.add("virtual ")
		}
		if c&msExternC != 0 {
			w.add(`extern "C" `)
		}
		if t.elem != nil {
			w.before(t.elem, how)
			w.add(" ")
		}
	}
	if how&msNoConvention == 0 {
		w.add(t.sig.convention)
	}
}

// after writes what stands after the name that has the type.
func (w *msWriter) after(t *msType, how msHow) {
	if *w.left <= 0 {
		return
	}
	switch t.form {
	case msPointer:
		if t.elem.form == msArray || t.elem.form == msFunction {
			w.add(")")
		}
		w.after(t.elem, how)
	case msArray:
		for _, n := range t.dims {
			w.add("[")
			if n != 0 {
				w.add(strconv.FormatUint(n, 10))
			}
			w.add("]")
		}
		w.after(t.elem, how)
	case msFunction:
		w.afterFunction(t, how)
	}
}

func (w *msWriter) afterFunction(t *msType, how msHow) {
	s := t.sig
	w.add(s.adjust)
	if s.class&msBare == 0 {
		w.params(s, how)
	}
	w.quals(t.quals, " ")
	if t.quals&msUnaligned != 0 {
		w.add(" __unaligned")
	}
	if s.noexcept {
		w.add(" noexcept")
	}
	w.add(s.ref)
	if how&msBrief == 0 && t.elem != nil {
		w.after(t.elem, how)
	}
}

func (w *msWriter) params(s *msSignature, how msHow) {
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
