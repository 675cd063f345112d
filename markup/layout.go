package markup

import (
	"bytes"
	"reflect"
	"strings"

	"qss-filter/filter/scan"
)

// class is the lexical class of a field: which text it may contain, and where it ends.
type class uint8

const (
	literal    class = iota // a literal of the grammar
	decimalC                // %d: decimal digits
	integerC                // %i: decimal digits; or hexadecimal, octal or binary digits after 0x, 0 or 0b
	addressC                // %p: 0x and hexadecimal digits, or only zeros
	hexDigitsC              // %x: hexadecimal digits
	modeC                   // r, w and x, each at most once, in this order, in upper or lower case
	pcTypeC                 // ra or pc
	textC                   // any text that is not empty
	keyC                    // any text
	registerC               // any text that is not empty, without spaces; spaces may precede it
	symbolName              // the name of a symbol, including the colons in it
	moduleName              // the name of a module, up to the last ":elf:" that precedes a build ID
	restC                   // the rest of the element, including colons
)

// classNames are the names of the classes in the grammar.
var classNames = [...]string{literal: "Literal", decimalC: "Decimal", integerC: "Integer", addressC: "Address", hexDigitsC: "HexDigits",
	modeC: "Mode", pcTypeC: "PCType", textC: "Text", keyC: "Key", registerC: "Register", symbolName: "SymbolName", moduleName: "ModuleName", restC: "Rest"}

// accepts reports whether a field is of the class. It does not check the value: a number may be too large, and octal digits invalid.
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
	word  string // text of a literal
	// optional is set if the field may be missing, with its colon.
	optional bool
}

// end returns the index after the field that begins at b[at].
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

// omitted reports whether an optional field is missing although there is a field at b[at]: that one is of another class and belongs to one
// of the following fields.
func (f *field) omitted(b []byte, at int, following []field) bool {
	return f.optional && len(following) > 0 && !f.class.accepts(b[at:f.end(b, at)])
}

// value is the value of a field: its number, and its position in the body. It is zero for a missing field.
type value struct {
	number     uint64
	start, end int32
}

// of returns the text of the field.
func (v *value) of(body []byte) []byte { return body[v.start:v.end:v.end] }

// read returns the number in the field that begins at b[at], and the index after the field. The caller has to check that a colon or the end
// of b follows.
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

// layout holds the fields of a tag, derived from the grammar.
type layout struct {
	fields []field
	// more is set if further fields may follow, which are ignored; repeats if the sequence of fields may be repeated.
	more, repeats bool
	// dump is an alternative to the fields; nil for most tags.
	dump *dumpLayout
}

// dumpLayout is the layout of a dump of registers: pairs of key and value, separated by spaces. Spaces may also precede a value.
type dumpLayout struct{ key, value field }

// scan reads a dump, and sets v to its last pair. It returns false if the dump is malformed.
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

// maxFields is the largest number of fields in a layout.
const maxFields = 6

// scan reads the fields of a body, and sets v to their values by index in the layout. For repeated fields, these are the last ones. It
// returns false if a field is malformed or missing.
func (l *layout) scan(body []byte, v *[maxFields]value) bool {
	at := 0 // greater than len(body) after the last field
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
				if f.omitted(body, at, l.fields[i+1:]) {
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

// layouts holds the layout of each tag, derived from the grammar.
var layouts = func() (all [Dumpfile + 1]layout) {
	productions := reflect.TypeFor[element]()
	for i := range productions.NumField() {
		tag, l := layoutOf(productions.Field(i).Type.Elem())
		all[tagOf([]byte(tag))] = l
	}
	return all
}()

// layoutOf derives a layout and its tag from a production, by the words in the participle tags of its fields. It supports
//
//	'bt':Tag ':'       the tag, and colons
//	'load'             a literal
//	@@ @Rest           a field; for @@, its class is in a separate production
//	(':' @@)?          an optional field
//	(':' @@)*          the previous fields, repeated
//	( … | @@+ )        the fields before the bar, or a dump
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

// add adds the fields of a type that is a production: one field, or two for a pair.
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

// classOf returns the class with a name. It panics if there is none, which is an error in the grammar.
func classOf(name string) class {
	for c, n := range classNames {
		if n == name {
			return class(c)
		}
	}
	panic("markup: the grammar names no class " + name)
}
