package cli

import (
	"flag"
	"strings"
	"testing"

	"github.com/creack/pty"
)

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text   string
		width  int
		indent int
		want   string
	}{
		{"one two three", 20, 2, "one two three"},
		{"one two three", 13, 2, "one two three"},
		{"one two three", 12, 2, "one two\n  three"},
		{"one two three", 5, 1, "one\n two\n three"},
		{"    onetwothree four", 8, 4, "    onetwothree four"}, // nowhere to break
		{"averyveryverylongword and more", 10, 2, "averyveryverylongword and more"},
		{"", 10, 2, ""},
	} {
		if got := wrapped(c.text, c.width, c.indent); got != c.want {
			t.Errorf("%q to %d is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestHelpLines shows each form that a flag takes in help, its default, and groups.
func TestHelpLines(t *testing.T) {
	p := &Program{Name: "prog", Commands: []*Command{{}, {Name: "c", Args: "FILE", Note: "reads it", About: "does it", Setup: func(fs *Flags) Run {
		var word, text string
		fs.Group("Words")
		fs.Word(&word, "word", "`WORD`: one, two", "one", "two")
		fs.Register(func(fs *flag.FlagSet) { fs.Bool("n", false, "no more") })
		fs.Group("Rest")
		fs.String(&text, "text", "some", "a long usage of a `TEXT` that does not fit onto the one line of one hundred columns it has")
		fs.Optional("text", "x")
		fs.String(&text, "a-flag-with-a-very-long-name", "", "")
		fs.Group("Words", "text")
		return nil
	}}}}
	fs, _ := p.flags(p.Commands[1])
	want := `Usage: prog c [flags] FILE     reads it

Does it.

Words:
      --word WORD             one, two [default: one]
  -n                          no more
      --text[=TEXT]           a long usage of a TEXT that does not fit onto the one line of one
                              hundred columns it has [default: some]

Rest:
      --a-flag-with-a-very-long-name VALUE
                              ` + `

Help and configuration:
      --no-config             do not read the configuration
      --print-config          print where the value of each flag comes from
  -h                          print one page of help
      --help[=all]            print the flags; --help=all prints those that are seldom needed, too
`
	if got := p.help(p.Commands[1], fs, true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHelpWidth prints help to terminals.
func TestHelpWidth(t *testing.T) {
	for _, c := range []struct{ columns, want int }{{30, 40}, {60, 60}, {80, 80}, {90, 90}, {200, 100}} {
		terminal, shown, err := pty.Open()
		if err != nil {
			t.Skipf("no terminal: %v", err)
		}
		defer terminal.Close()
		defer shown.Close()
		if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: uint16(c.columns)}); err != nil {
			t.Fatal(err)
		}
		p := offering()
		if p.Stdout = shown; width(shown) != c.want {
			t.Errorf("at %d columns help is %d wide, want %d", c.columns, width(shown), c.want)
		}
		fs, _ := p.flags(p.Commands[0])
		longest := 0
		for line := range strings.SplitSeq(p.help(p.Commands[0], fs, true), "\n") {
			longest = max(longest, len(line))
		}
		if longest > c.want || longest < c.want-25 {
			t.Errorf("at %d columns the longest line has %d", c.columns, longest)
		}
	}
}
