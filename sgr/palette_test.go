package sgr

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestPalette(t *testing.T) {
	if p := NewPalette(false); *p != (Palette{}) {
		t.Errorf("%q", *p)
	}
	t.Setenv("NO_COLOR", "1") // NewPalette is told, and does not ask
	v := reflect.ValueOf(*NewPalette(true))
	for i := range v.NumField() {
		name, sequence := v.Type().Field(i).Name, v.Field(i).String()
		text, _ := Strip(nil, nil, []byte(sequence))
		if sequence == "" || len(text) != 0 {
			t.Errorf("%s: %q is not one sequence", name, sequence)
		}
		var s State
		s.Feed([]byte(sequence))
		if s.Plain() != (name == "Off") {
			t.Errorf("%s: %q leads to %+v", name, sequence, s)
		}
		// White, black and yellow text cannot be read on one kind of terminal or the other.
		for _, code := range []string{"30", "33", "37", "97", "93"} {
			if strings.Contains(strings.ReplaceAll(sequence, "[", ";"), ";"+code) {
				t.Errorf("%s: %q", name, sequence)
			}
		}
	}
	if p := NewPalette(true); p.Func != "\x1b[1;94m" || p.Off != "\x1b[0m" {
		t.Errorf("%q", *p)
	}
}

// Our colour around a span of a coloured log, and the log's own behind it.
func ExampleState_Append() {
	p := NewPalette(true)
	log := "\x1b[1;31mcrash in "
	var s State
	s.Feed([]byte(log))
	out := append([]byte(log), p.Func...)
	out = append(out, "main"...)
	out = append(out, p.Off...)
	out = s.Append(out)
	fmt.Printf("%q\n", append(out, " at once"...))
	// Output: "\x1b[1;31mcrash in \x1b[1;94mmain\x1b[0m\x1b[1;31m at once"
}

func TestEnabled(t *testing.T) {
	for _, c := range []struct {
		mode, noColor, forceColor, term string
		terminal, want                  bool
	}{
		{"auto", "", "", "xterm", true, true},
		{"auto", "", "", "", true, true},
		{"auto", "", "", "xterm", false, false},
		{"auto", "", "", "dumb", true, false},
		{"auto", "1", "", "xterm", true, false},
		{"auto", "0", "", "xterm", true, false}, // no-color.org: any value that is not empty
		{"auto", "", "1", "xterm", false, true},
		{"auto", "", "0", "xterm", false, false},
		{"auto", "", "0", "xterm", true, true},
		{"auto", "", "1", "dumb", false, true},
		{"auto", "1", "1", "xterm", true, false},
		{"", "", "", "xterm", true, true},
		{"always", "1", "0", "dumb", false, true},
		{"never", "", "1", "xterm", true, false},
	} {
		if got := Enabled(c.mode, c.noColor, c.forceColor, c.term, c.terminal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestParsePalette(t *testing.T) {
	plain := *NewPalette(true)
	for _, c := range []struct {
		text, wrong string
		change      func(*Palette)
	}{
		{text: ""}, {text: ":"},
		{text: "func=1;34", change: func(p *Palette) { p.Func = "\x1b[1;34m" }},
		{text: "file=:quiet=38;5;244:", change: func(p *Palette) { p.File, p.Quiet = "", "\x1b[38;5;244m" }},
		{text: "inlined=3:note=4:mark=7", change: func(p *Palette) { p.Inlined, p.Note, p.Mark = "\x1b[3m", "\x1b[4m", "\x1b[7m" }},
		{text: "func=1:fnc=2", wrong: `"fnc=2": want func=, inlined=, file=, quiet=, note= or mark=`},
		{text: "func=1:file", wrong: `"file": want func=, inlined=, file=, quiet=, note= or mark=`},
		{text: "func=red", wrong: `"func=red": want numbers as in 1;34`},
		{text: "func=1m\x1b[2J", wrong: `"func=1m\x1b[2J": want numbers as in 1;34`},
	} {
		got, want, wrong := plain, plain, ""
		if err := got.Parse(c.text); err != nil {
			wrong = err.Error()
		}
		if c.change != nil {
			c.change(&want)
		}
		if got != want || wrong != c.wrong {
			t.Errorf("%q: %q, %s", c.text, got, wrong)
		}
	}
}
