package sgr

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestPalette(t *testing.T) {
	if p := NewPalette(false); *p != (Palette{}) {
		t.Errorf("%q", *p)
	}
	t.Setenv("NO_COLOR", "1") // must be ignored
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
		// White, black and yellow text is illegible on some terminals.
		for _, code := range []string{"30", "33", "37", "97", "93"} {
			if strings.Contains(strings.ReplaceAll(sequence, "[", ";"), ";"+code) {
				t.Errorf("%s: %q", name, sequence)
			}
		}
	}
	if p := NewPalette(true); p.Func != "\x1b[1m" || p.Off != "\x1b[0m" {
		t.Errorf("%q", *p)
	}
}

func TestTheme(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // must be ignored
	for name, paint := range map[string]func(*Theme, string) string{"strong": (*Theme).Strong, "quiet": (*Theme).Quiet, "place": (*Theme).Place, "alert": (*Theme).Alert} {
		if got := paint(NewTheme(false), "x"); got != "x" {
			t.Errorf("%s without colors: %q", name, got)
		}
		got := paint(NewTheme(true), "x")
		if text, _ := Strip(nil, nil, []byte(got)); got == "x" || string(text) != "x" || paint(NewTheme(true), "") != "" {
			t.Errorf("%s: %q", name, got)
		}
		var s State
		if s.Feed([]byte(got)); !s.Plain() {
			t.Errorf("%s: %q leaves %+v", name, got, s)
		}
	}
}

// Text that is added to a colored log has its own color; the log's colors are restored after it.
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
	// Output: "\x1b[1;31mcrash in \x1b[1mmain\x1b[0m\x1b[1;31m at once"
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

// rgb is a color in linear light, with components from 0 to 1.
type rgb [3]float64

// hex returns the color of a text such as #0087d7.
func hex(s string) (c rgb) {
	for i := range c {
		n, _ := strconv.ParseUint(s[1+2*i:3+2*i], 16, 8)
		if v := float64(n) / 255; v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

// contrast returns the contrast ratio of two colors (WCAG 2.2).
func contrast(a, b rgb) float64 {
	light := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a), light(b)) / min(light(a), light(b))
}

// TestLegible checks that the colors of paths and notes are legible with the palettes and backgrounds of common terminals (WCAG requires 3:1
// for large or bold text and for graphics, which the red of some dark themes just misses), and that people without red or green cones can
// distinguish them (simulation by Viénot et al., 1999).
func TestLegible(t *testing.T) {
	if p := NewPalette(true); p.File != "\x1b[35m" || p.Note != "\x1b[31m" {
		t.Fatalf("the colors are %q and %q, not magenta and red", p.File, p.Note)
	}
	for name, theme := range map[string]struct{ back, file, note string }{
		"xterm": {"#000000", "#cd00cd", "#cd0000"}, "xterm, white": {"#ffffff", "#cd00cd", "#cd0000"}, "GNOME": {"#1e1e1e", "#a347ba", "#c01c28"},
		"GNOME, white": {"#ffffff", "#a347ba", "#c01c28"}, "VS Code": {"#1e1e1e", "#bc3fbc", "#cd3131"},
		"VS Code, white": {"#ffffff", "#bc05bc", "#cd3131"}, "One Dark": {"#282c34", "#c678dd", "#e06c75"}, "macOS": {"#ffffff", "#b200b2", "#990000"},
	} {
		fileColor, noteColor := hex(theme.file), hex(theme.note)
		for which, c := range map[string]rgb{"file": fileColor, "note": noteColor} {
			if got := contrast(c, hex(theme.back)); got < 2.7 {
				t.Errorf("%s on %s: %.2f", which, name, got)
			}
		}
		tellApart(t, name, fileColor, noteColor)
	}
}

// tellApart checks that people without red or green cones can distinguish two colors.
func tellApart(t *testing.T, name string, fileColor, noteColor rgb) {
	t.Helper()
	for who, m := range map[string][3]rgb{
		"protanope":   {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
		"deuteranope": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	} {
		distance := 0.0
		for _, row := range m {
			d := 0.0
			for i := range row {
				d += row[i] * (fileColor[i] - noteColor[i])
			}
			distance += d * d
		}
		if math.Sqrt(distance) < 0.4 {
			t.Errorf("%s: to a %s the colors are %.2f apart", name, who, math.Sqrt(distance))
		}
	}
}
