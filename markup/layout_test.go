package markup

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// describe returns a one-line description of a layout.
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
	if l.dump != nil {
		b.WriteString(", or a dump of " + classNames[l.dump.key.class] + " " + classNames[l.dump.value.class])
	}
	return strings.TrimSpace(b.String())
}

// TestLayouts checks the layouts that are derived from the grammar.
func TestLayouts(t *testing.T) {
	for tag, want := range map[Tag]string{
		Reset: "more", Module: `Integer ModuleName Literal "elf" HexDigits more`, MMap: `Address Integer Literal "load" Integer Mode Address more`,
		BT: "Decimal Address PCType? Rest?", PC: "Address PCType? more", Data: "Address more", Symbol: "SymbolName more",
		Hexdict: "Key Address repeats, or a dump of Register Address", Dumpfile: "Text Rest", Unknown: "",
	} {
		l := &layouts[tag]
		if got := l.describe(); got != want || len(l.fields) > maxFields {
			t.Errorf("tag %d: %s, want %s", tag, got, want)
		}
	}
	for i := range reflect.TypeFor[element]().NumField() {
		name := strings.ToLower(reflect.TypeFor[element]().Field(i).Name)
		if tag, _ := layoutOf(reflect.TypeFor[element]().Field(i).Type.Elem()); tag != name || tagOf([]byte(tag)) == Unknown {
			t.Errorf("production %s has the tag %q", name, tag)
		}
	}
}

// TestDump checks valid and invalid dumps of registers.
func TestDump(t *testing.T) {
	for body, want := range map[string]bool{
		"RIP: 0x6ee17076fb80 RSP: 0": true, "  CS:   0 \tRIP:0x1  ": true, "a:0x1": true, "a:0x1 b-c:00": true,
		"": false, " ": false, "a": false, "a:": false, "a: x": false, "a: 0x1 b": false, "a b: 0x1": false, ": 0x1": false, "a: 0x1:b: 0x2": false,
		"a: 0x1,b: 0x2": false, "a: 0x10000000000000000": false,
	} {
		e := inside("hexdict", body)
		if got := e.isDump(); got != want {
			t.Errorf("%q: %v", body, got)
		}
		if d := differ(e); d != "" {
			t.Errorf("%q: %s", body, d)
		}
	}
	if one(t, "{{{reset}}}").isDump() {
		t.Error("a reset was read as a dump")
	}
}

// BenchmarkLayouts measures the derivation of the layouts at program start.
func BenchmarkLayouts(b *testing.B) {
	productions := reflect.TypeFor[element]()
	for b.Loop() {
		for i := range productions.NumField() {
			layoutOf(productions.Field(i).Type.Elem())
		}
	}
}
