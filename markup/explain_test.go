package markup

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExplain(t *testing.T) {
	at := func(offset int) error { return &FieldError{Offset: offset, Msg: "m"} }
	long := strings.Repeat("0123456789", 30)
	for _, c := range []struct {
		line string
		err  error
		want string
	}{
		{"abc", at(1), "line 3:2: m\nabc\n ^"},
		{"abc", at(3), "line 3:4: m\nabc\n   ^"},
		{"abc", at(99), "line 3:4: m\nabc\n   ^"},
		{"abc", at(-1), "line 3:1: m\nabc\n^"},
		{"", at(0), "line 3:1: m\n\n^"},
		{"abc", errors.New("other"), "line 3: other"},
		{"abc", fmt.Errorf("wrapped: %w", at(0)), "line 3:1: wrapped: m\nabc\n^"},
		// The column is in bytes, as in editors and compilers; the caret is below the rune.
		{"a\x1b[1m\tü\xff\u202eb", at(9), "line 3:10: m\na.[1m ü..b\n        ^"},
		{"e\u0301x\r", at(3), "line 3:4: m\ne.x.\n  ^"},
		{long, at(0), "line 3:1: m\n" + long[:99] + "…\n^"},
		{long, at(150), "line 3:151: m\n…" + long[101:199] + "…\n" + strings.Repeat(" ", 50) + "^"},
		{long, at(300), "line 3:301: m\n…" + long[201:] + "\n" + strings.Repeat(" ", 100) + "^"},
		{long, at(290), "line 3:291: m\n…" + long[201:] + "\n" + strings.Repeat(" ", 90) + "^"},
	} {
		if got := Explain(3, []byte(c.line), c.err); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.line, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for field, want := range map[string]string{
		"": "''", "x": "'x'", "a'b": "'a'b'", "\x1b]0;\x07": "'.]0;.'", strings.Repeat("x", 40): "'" + strings.Repeat("x", 40) + "'",
		strings.Repeat("ü", 41): "'" + strings.Repeat("ü", 40) + "…'",
	} {
		if got := quote(field); got != want {
			t.Errorf("%q: %s, want %s", field, got, want)
		}
	}
}

// FuzzExplain checks that a message is printable, and has three lines of limited width with the caret below the source line.
func FuzzExplain(f *testing.F) {
	f.Add([]byte("{{{bt:x:0x1}}}"), 6)
	f.Add([]byte(strings.Repeat("\xf0\x9f\x98\x80", 400)), 801)
	f.Add([]byte("\x1b[31m\r\n\x00"), 3)
	f.Fuzz(func(t *testing.T, line []byte, offset int) {
		lines := strings.Split(Explain(1, line, &FieldError{Offset: offset, Msg: "m"}), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines", len(lines))
		}
		source, caret := utf8.RuneCountInString(lines[1]), len(lines[2])-1
		if source > sourceWidth || caret > source || strings.Trim(lines[2], " ") != "^" {
			t.Errorf("%q\n%q", lines[1], lines[2])
		}
		if strings.ContainsFunc(lines[1], func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 || r == utf8.RuneError }) &&
			!strings.Contains(string(line), "\ufffd") {
			t.Errorf("%q", lines[1])
		}
	})
}
