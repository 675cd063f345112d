package markup

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// describe writes a layout in one line.
func (l *layout) describe() string {
	var b strings.Builder
	for i := range l.fields {
		f := &l.fields[i]
		fmt.Fprintf(&b, " %s", classNames[f.class])
		if f.word != "" {
			fmt.Fprintf(&b, " %q", f.word)
		}
		if f.optional {
			b.WriteString("?")
		}
	}
	if l.more {
		b.WriteString(" more")
	}
	if l.repeats {
		b.WriteString(" repeats")
	}
	return strings.TrimSpace(b.String())
}

// TestLayouts holds what is taken from the grammar, for a reader's eye.
func TestLayouts(t *testing.T) {
	for tag, want := range map[Tag]string{
		Reset: "more", Module: `Integer ModuleName Literal "elf" HexDigits more`, MMap: `Address Integer Literal "load" Integer Mode Address more`,
		BT: "Decimal Address PCType? Rest?", PC: "Address PCType? more", Data: "Address more", Symbol: "SymbolName more",
		Hexdict: "Key Address repeats", Dumpfile: "Text Rest", Unknown: "",
	} {
		l := &layouts[tag]
		if got := l.describe(); got != want || len(l.fields) > maxFields {
			t.Errorf("tag %d: %s, want %s", tag, got, want)
		}
	}
	for i := range reflect.TypeFor[element]().NumField() {
		name := strings.ToLower(reflect.TypeFor[element]().Field(i).Name)
		if tag, _ := layoutOf(reflect.TypeFor[element]().Field(i).Type.Elem()); tag != name || tagOf([]byte(tag)) == Unknown {
			t.Errorf("production %s is of the tag %q", name, tag)
		}
	}
}

// BenchmarkLayouts is what every start of the program takes.
func BenchmarkLayouts(b *testing.B) {
	productions := reflect.TypeFor[element]()
	for b.Loop() {
		for i := range productions.NumField() {
			layoutOf(productions.Field(i).Type.Elem())
		}
	}
}
