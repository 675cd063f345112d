package symsrc

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "a{{{symbol:b}}}": `a{{\x7bsymbol:b}}}`, "<<<<reset>>>": `<<<\x3creset>>>`, "<<<A as B>::C>::D>>>": "<<<A as B>::C>::D>>>", "naïve/文.c": "naïve/文.c", "a\x1b[31mb": `a\x1b[31mb`, "a\nb\tc\x7f": `a\x0ab\x09c\x7f`, "\x9bm": `\x9bm`,
		"a\u009bm": `a\u009bm`, "a\u202eb\u2066": `a\u202eb\u2066`, "caf\xe9": "caf\xe9", "\u200f": `\u200f`, "\u200b\ufeff\u00ad": `\u200b\ufeff\u00ad`, "\U000e0041": `\U000e0041`, "\u0600": "\u0600",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b]8;;\x9b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		for i, r := range v {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == utf8.RuneError && v[i] >= 0x80 && v[i] <= 0x9f {
				t.Errorf("%q becomes %q", s, v)
			}
		}
		if Visible(v) != v || !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) && !element().MatchString(s) && v != s || element().MatchString(v) {
			t.Errorf("%q becomes %q", s, v)
		}
	})
}

func TestVisibleLines(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\n\tb\n": "a\n\tb\n", "a\x1b[2J\n\tb\r\x9b": `a\x1b[2J` + "\n\tb" + `\x0d\x9b`, "\n": "\n"} {
		if got := VisibleLines(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestVisibleJSON holds that JSON says the same with what cannot be seen escaped.
func TestVisibleJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "a\u009bb\u202e\x7f", "\U000e0041\u2028", "caf\u00e9 \U0001f600"} {
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := VisibleJSON(plain)
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != s || Visible(string(got)) != string(got) {
			t.Errorf("%q became %s: %q, %v", s, got, back, err)
		}
	}
}

// TestVisibleAppends compares with AppendVisible, which takes no shortcut, over texts of what either looks at.
func TestVisibleAppends(t *testing.T) {
	parts := []string{"a", "main", "{", "{{{", "<", "<<<", "symbol:f}}}", "pc>>>", " ", "\x1b", "\x7f", "~", "\u202e", "é", "\xff"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		s := ""
		for range rng.IntN(24) {
			s += parts[rng.IntN(len(parts))]
		}
		if got, want := Visible(s), string(AppendVisible(nil, s)); got != want {
			t.Fatalf("%q is %q, want %q", s, got, want)
		}
	}
}
