package markup

import (
	"bytes"
	"reflect"
	"strings"

	"qss-filter/filter/scan"
)

// class is the lexical class of a field: how it is cut off from what follows, and read.
type class uint8

const (
	literal    class = iota // a word of the grammar, as written
	decimalC                // %d: decimal digits
	integerC                // %i: decimal; or hexadecimal, octal or binary digits after 0x, 0 or 0b
	addressC                // %p: 0x and hexadecimal digits, or zeros alone
	hexDigitsC              // %x: hexadecimal digits
	modeC                   // r, w and x, each at most once, in this order and of either case
	pcTypeC                 // ra or pc
	textC                   // any text but none
	keyC                    // any text
	registerC               // any text but none, without spaces; spaces may stand before it
	symbolName              // the name of a symbol, with the colons that are its own
	moduleName              // the name of a module, up to the last ":elf:" that a build ID follows
	restC                   // all that follows, with its colons
)

// classNames are the names of the classes in the grammar.
var classNames = [...]string{literal: "Literal", decimalC: "Decimal", integerC: "Integer", addressC: "Address", hexDigitsC: "HexDigits",
	modeC: "Mode", pcTypeC: "PCType", textC: "Text", keyC: "Key", registerC: "Register", symbolName: "SymbolName", moduleName: "ModuleName", restC: "Rest"}

// accepts reports whether a field is of the class, but for its size: a number may be too large, and octal digits too high.
func (c class) accepts(field []byte) bool {
	switch c {
	case decimalC:
		return allIn(field, 10)
	case integerC:
		digits, base := integerDigits(field)
		if base == 8 && field[1] != 'o' {
			base = 10
		}
		return allIn(digits, base)
	case addressC:
		return isZeros(field) || len(field) > 2 && field[0] == '0' && field[1] == 'x' && scan.IsHexField(field[2:])
	case hexDigitsC:
		return scan.IsHexField(field)
	case modeC:
		return len(field) > 0 && modeEnd(field, 0) == len(field)
	case pcTypeC:
		return TypeOf(field) != Unmarked
	case textC:
		return len(field) > 0
	case registerC:
		return len(field) > 0 && !bytes.ContainsAny(field, " \t")
	case literal:
		return false
	}
	return true
}

// field is a field of a layout.
type field struct {
	class class
	word  string // of a literal
	// optional is set where the field may be missing, with its colon.
	optional bool
}

// end returns where the field ends that begins at b[at].
func (f *field) end(b []byte, at int) int {
	switch f.class {
	case restC:
		return len(b)
	case symbolName:
		return at + symbolEnd(b[at:])
	case moduleName:
		return at + moduleNameEnd(b[at:])
	}
	return at + colonOrEnd(b[at:])
}

// yields reports whether an optional field is missing though a field stands at b[at]: it is of another class, and one follows that
// takes it.
func (f *field) yields(b []byte, at int, following []field) bool {
	return f.optional && len(following) > 0 && !f.class.accepts(b[at:f.end(b, at)])
}

// value is what a field says: the number, and where it stands in the body. It is zero for a field that is missing.
type value struct {
	number     uint64
	start, end int32
}

// of returns the field as written.
func (v *value) of(body []byte) []byte { return body[v.start:v.end:v.end] }

// read reads the field that begins at b[at]. It says nothing of what follows: that must be a colon or the end.
func (f *field) read(b []byte, at int) (number uint64, end int, ok bool) {
	switch f.class {
	case addressC:
		if number, end, ok = scan.Address(b, at); ok {
			return number, end, true
		}
		for end = at; end < len(b) && b[end] == '0'; {
			end++
		}
		return 0, end, end > at
	case decimalC:
		return scan.Decimal(b, at)
	case literal:
		return 0, at + len(f.word), scan.Has(b, at, f.word)
	case pcTypeC:
		end = min(at+len("ra"), len(b))
		return 0, end, TypeOf(b[at:end]) != Unmarked
	case integerC:
		if number, end, ok = scan.Address(b, at); ok {
			return number, end, true
		}
		if at < len(b) && b[at] != '0' {
			return scan.Decimal(b, at)
		}
		end = f.end(b, at)
		number, ok = Integer(b[at:end])
		return number, end, ok
	case modeC:
		end = modeEnd(b, at)
		return 0, end, end > at
	}
	end = f.end(b, at)
	return 0, end, f.class.accepts(b[at:end])
}

// layout is what the grammar says of a tag's fields.
type layout struct {
	fields []field
	// more is set where further fields may follow, which are ignored; repeats, where the fields may come again and again.
	more, repeats bool
	// dump is what else the fields may be, nil for most tags.
	dump *dumpLayout
}

// dumpLayout is that of a dump of registers: pairs with spaces between them, and before each part.
type dumpLayout struct{ key, value field }

// scan reads a dump, and keeps its last pair.
func (d *dumpLayout) scan(body []byte, v *[maxFields]value) bool {
	at := scan.Spaces(body, 0)
	for some := at < len(body); some; {
		end := d.key.end(body, at)
		if end == len(body) || !d.key.class.accepts(body[at:end]) {
			return false
		}
		v[0] = value{start: int32(at), end: int32(end)}
		at = scan.Spaces(body, end+1)
		number, end, ok := d.value.read(body, at)
		if !ok || end < len(body) && !scan.IsSpace(body[end]) {
			return false
		}
		v[1] = value{number, int32(at), int32(end)}
		if at = scan.Spaces(body, end); at == len(body) {
			return true
		}
	}
	return false
}

// maxFields is the most fields that a layout has.
const maxFields = 6

// scan reads the fields of a body, by their places in the layout. Of fields that repeat it keeps the last.
func (l *layout) scan(body []byte, v *[maxFields]value) bool {
	at := 0 // beyond the body where no field follows
	for again := true; again; again = l.repeats && at <= len(body) {
		for i := range l.fields {
			f := &l.fields[i]
			if at > len(body) {
				if f.optional {
					continue
				}
				return false
			}
			number, end, ok := f.read(body, at)
			if !ok || end < len(body) && body[end] != ':' {
				if f.yields(body, at, l.fields[i+1:]) {
					continue
				}
				return false
			}
			v[i] = value{number, int32(at), int32(end)}
			at = end + 1
		}
	}
	return at > len(body) || l.more
}

// layouts are those of the tags, taken from the grammar.
var layouts = func() (all [Dumpfile + 1]layout) {
	productions := reflect.TypeFor[element]()
	for i := range productions.NumField() {
		tag, l := layoutOf(productions.Field(i).Type.Elem())
		all[tagOf([]byte(tag))] = l
	}
	return all
}()

// layoutOf takes a layout, and its tag, from a production: from the words of the participle tags of its fields. Those that the grammar
// may hold are
//
//	'bt':Tag ':'       the tag, and colons
//	'load'             a literal
//	@@ @Rest           a field; its class, if it is a production of its own, is stated there
//	(':' @@)?          one that may be missing
//	(':' @@)*          the fields before it, again
//	( … | @@+ )        what is before the bar, or a dump
//	More?              further fields
func layoutOf(production reflect.Type) (tag string, l layout) {
	for i := range production.NumField() {
		f := production.Field(i)
		expression := f.Tag.Get("parser")
		optional := false
		for _, word := range strings.Fields(expression) {
			optional = optional || strings.HasPrefix(word, "(") && strings.HasSuffix(expression, ")?")
			bare := strings.Trim(word, "()?*@")
			switch {
			case word == "(", word == ")", word == "|":
			case word == "@@+":
				_, pair := layoutOf(f.Type.Elem())
				l.dump = &dumpLayout{pair.fields[0], pair.fields[1]}
			case strings.HasSuffix(bare, ":Tag"):
				tag = strings.Trim(strings.TrimSuffix(bare, ":Tag"), "'")
			case bare == "':'":
			case strings.HasPrefix(bare, "'"):
				l.fields = append(l.fields, field{class: literal, word: strings.Trim(bare, "'")})
			case bare == "More":
				l.more = true
			case strings.HasSuffix(word, ")*"):
				l.repeats = true
			case bare == "":
				l.add(f.Type, optional)
			default:
				l.fields = append(l.fields, field{class: classOf(bare), optional: optional})
			}
		}
	}
	return tag, l
}

// add adds the fields of a type that is a production of its own: one field of one class, or, for a pair, two.
func (l *layout) add(t reflect.Type, optional bool) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	_, inner := layoutOf(t)
	for _, f := range inner.fields {
		f.optional = optional
		l.fields = append(l.fields, f)
	}
}

// classOf returns the class of a name. A name that is none is a mistake in the grammar.
func classOf(name string) class {
	for c, n := range classNames {
		if n == name {
			return class(c)
		}
	}
	panic("markup: the grammar names no class " + name)
}
