package parse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter/parse"
)

// segments returns the segments of a line as `before|text|after`, with the program's own words in brackets.
func segments(p *parse.Parser, line string) (all []string) {
	l := p.Line([]byte(line))
	for p.Next(l) {
		all = append(all, fmt.Sprintf("%s|%s[%s]%s|%s", l.Before, l.Text[:l.Start], l.Text[l.Start:l.End], l.Text[l.End:], l.After))
	}
	return all
}

// TestLine holds that the segments of a line, with what stands around them, are the line.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		bare bool
	}{
		{"plain\n", []string{"|[plain]|\n"}, false},
		{"no end", []string{"|[no end]|"}, false},
		{"\r\n", []string{"|[]|\r\n"}, false},
		{" {{{bt:0:0x10}}}\r\n", []string{"|[ {{{bt:0:0x10}}}]|\r\n"}, true},
		{"{{{bt:0:0x10}}}", []string{"|[{{{bt:0:0x10}}}]|"}, true},
		{"{{{bt:0:0x10}}} \n", []string{"|[{{{bt:0:0x10}}} ]|\n"}, false},
		{"{{{bt:0:nothing}}}\n", []string{"|[{{{bt:0:nothing}}}]|\n"}, false},
		{"{{{pc:0x10}}}\n", []string{"|[{{{pc:0x10}}}]|\n"}, false},
		{"11-21 10:11:12.123  1201  1202 F DEBUG   : #00 pc 10\n", []string{"|11-21 10:11:12.123  1201  1202 F DEBUG   : [#00 pc 10]|\n"}, false},
		{`{"log":"a\nb","n":1}` + "\n", []string{`{"|[log]|`, `":"|[a]|`, `\n|[b]|`, `","|[n]|":1}` + "\n"}, false},
		{`12 {"a":"x`, []string{`|[12 {"a":"x]|`}, false},
		{`{"open":"x}` + "\n", []string{`|[{"open":"x}]|` + "\n"}, false},
		{"{}\n", []string{"|[{}]|\n"}, false},
	} {
		var p parse.Parser
		got := segments(&p, c.line)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
		if l := p.Line([]byte(c.line)); l.Bare != c.bare {
			t.Errorf("%q: bare is %v", c.line, l.Bare)
		}
	}
}

// FuzzLine holds that no byte of a line is lost between its segments.
func FuzzLine(f *testing.F) {
	f.Add(`{"log":"a\nb","n":1}` + "\r\n")
	f.Add("2026-11-21T10:11:12Z stdout F {\"m\":\"{{{bt:0:0x1}}}\"}\n")
	f.Fuzz(func(t *testing.T, line string) {
		var p parse.Parser
		var b strings.Builder
		l := p.Line([]byte(line))
		for p.Next(l) {
			b.Write(l.Before)
			b.Write(l.Text)
			b.Write(l.After)
			if l.Start < 0 || l.Start > l.End || l.End > len(l.Text) {
				t.Fatalf("%q: the words of %q are [%d:%d]", line, l.Text, l.Start, l.End)
			}
		}
		if b.String() != line {
			t.Fatalf("%q became %q", line, b.String())
		}
	})
}

// TestLineLong holds that a frame below a header of logcat -v long has the header's prefix, though it stands alone on its line.
func TestLineLong(t *testing.T) {
	var p parse.Parser
	p.Skip([]byte("[ 11-21 10:11:12.123  1201: 1202 F/DEBUG    ]\n"), 0, 0)
	if l := p.Line([]byte("{{{bt:0:0x10}}}\n")); l.Bare || !p.Long {
		t.Errorf("bare %v, long %v", l.Bare, p.Long)
	}
}

// TestContextLine holds which lines are nothing but context, and where their words end.
func TestContextLine(t *testing.T) {
	const module = "{{{module:0:a.so:elf:aa}}}"
	const mapping = "{{{mmap:0x1000:0x1000:load:0:rx:0}}}"
	for line, want := range map[string]int{
		module: len(module), module + " " + mapping + " ": len(module + mapping + "  "), "  {{{reset}}}": 13,
		"I/tag( 12): " + module: len("I/tag( 12): " + module),
		"":                      -1, "text": -1, module + "x": -1, "x " + module: -1, "{{{bt:0:0x10}}}": -1, module + "{{{bt:0:0x10}}}": -1,
		module + "{{{hexdict:": -1, "\x1b[1m" + module: -1,
	} {
		var p parse.Parser
		l := p.Line([]byte(line))
		p.ReadElements(l.Text, 0, 0)
		if got, ok := p.ContextLine(l.Text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v, want %d", line, got, ok, want)
		}
	}
}
