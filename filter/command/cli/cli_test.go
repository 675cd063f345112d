package cli

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

// colors is a flag of the standard library that knows its words.
type colors string

func (c *colors) String() string     { return string(*c) }
func (c *colors) Set(s string) error { *c = colors(s); return nil }
func (*colors) Words() []string      { return []string{"red", "green"} }

// sample is a program with a command of each kind, and what was run.
func sample(ran *string) (*Program, *strings.Builder) {
	out := &strings.Builder{}
	return &Program{Name: "prog", Version: func() string { return "1.2" }, About: "does much", Uses: []string{"-- COMMAND"}, Exit: "0 always.", Stdout: out,
		Commands: []*Command{
			{Args: "[FILE ...]", Common: []string{"mode", "help"}, Setup: func(fs *Flags) Run {
				var mode string
				var color colors
				fs.Word(&mode, "mode", "`MODE`", "fast", "slow")
				fs.Register(func(fs *flag.FlagSet) { fs.Var(&color, "color", "`COLOR`") })
				fs.Optional("color", "red")
				return func() (int, error) {
					before, after := fs.Split()
					*ran = "main " + mode + " " + string(color) + " " + strings.Join(before, ",") + "|" + strings.Join(after, ",")
					return OK, nil
				}
			}},
			{Name: "none", About: "does nothing", Setup: func(*Flags) Run {
				return func() (int, error) {
					*ran = "none"
					return OK, nil
				}
			}},
			{Name: "one", Args: "NAME", Least: 1, Most: 1, About: "does one thing", Setup: func(fs *Flags) Run {
				return func() (int, error) {
					*ran = "one " + fs.Args()[0]
					if fs.Args()[0] == "bad" {
						return OK, &Misuse{errors.New("bad is no name")}
					}
					return Failed, errors.New("broken")
				}
			}},
		}}, out
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		args       string
		status     int
		ran        string
		err        string
		out, hides string // parts of what is printed
	}{
		{args: "a b", ran: "main fast  a,b|"},
		{args: "--mode=slow --color a -- b --mode=c", ran: "main slow red a|b,--mode=c"},
		{args: "--color=green", ran: "main fast green |"},
		{args: "--mode=both", status: Usage, err: "--mode=both: want fast, slow (try 'prog --help')"},
		{args: "--what", status: Usage, err: "unknown flag: --what (try 'prog --help')"},
		{args: "--version", out: "prog 1.2\n"},
		{args: "--help", out: "Usage: prog [flags] [FILE ...]\n       prog -- COMMAND\n\nDoes much.\n"},
		{args: "--color green", ran: "main fast green |"},
		{args: "-mode=slow", status: Usage, err: "unknown flag: -mode: did you mean --mode? (try 'prog --help')"},
		{args: "--moed=slow", status: Usage, err: "unknown flag: --moed: did you mean --mode? (try 'prog --help')"},
		{args: "--mo=slow", status: Usage, err: "unknown flag: --mo: did you mean --mode? (try 'prog --help')"},
		{args: "--help", out: "  one         does one thing\n"},
		{args: "help", out: "does one thing"},
		{args: "-h", out: "--mode MODE", hides: "--color"},
		{args: "--help", out: "--color"},
		{args: "one x", status: Failed, ran: "one x", err: "broken"},
		{args: "one bad", status: Usage, ran: "one bad", err: "bad is no name (try 'prog one --help')"},
		{args: "one", status: Usage, err: "want: prog one [flags] NAME (try 'prog one --help')"},
		{args: "one a b", status: Usage, err: "want: prog one [flags] NAME (try 'prog one --help')"},
		{args: "none", ran: "none"},
		{args: "none a", status: Usage, err: "want: prog none [flags] (try 'prog none --help')"},
		{args: "one --mode=slow a", status: Usage, err: "unknown flag: --mode: it is a flag of 'prog' without a command (try 'prog one --help')"},
		{args: "one --help", out: "Usage: prog one [flags] NAME\n\nDoes one thing.\n"},
		{args: "help one", out: "Usage: prog one [flags] NAME\n"},
		{args: "help two", status: Usage, err: "help two: there is no such command or topic; 'prog help' lists them (try 'prog --help')"},
		{args: "help --help", out: "--color"},
		{args: "x one", ran: "main fast  x,one|"},
	} {
		ran := ""
		p, out := sample(&ran)
		status, err := p.Run(strings.Fields(c.args))
		message := ""
		if err != nil {
			message = err.Error()
		}
		if status != c.status || ran != c.ran || message != c.err || !strings.Contains(out.String(), c.out) || c.out == "" && out.Len() > 0 ||
			c.hides != "" && strings.Contains(out.String(), c.hides) {
			t.Errorf("%q gives %d %q %q, and prints\n%s", c.args, status, ran, message, out)
		}
	}
}

// TestWords says which flags are known to be one of a few words.
func TestWords(t *testing.T) {
	p, _ := sample(new(string))
	fs, _ := p.flags(p.Commands[0])
	if len(fs.words) != 2 || !slices.Equal(fs.words["mode"], []string{"fast", "slow"}) || !slices.Equal(fs.words["color"], []string{"red", "green"}) {
		t.Errorf("the words are %q", fs.words)
	}
}

// TestGiven holds that the flags of the command line are returned, and none of the configuration.
func TestGiven(t *testing.T) {
	var many []string
	var quiet bool
	var last, other string
	fs := (&Program{}).newFlags("prog")
	fs.Register(func(set *flag.FlagSet) {
		set.Func("many", "", func(v string) error { many = append(many, v); return nil })
	})
	fs.Repeated("many")
	fs.Bool(&quiet, "quiet", "")
	fs.String(&last, "last", "", "")
	fs.String(&other, "other", "", "")
	if err := fs.put("other", "file", "config:1"); err != nil {
		t.Fatal(err)
	}
	if err := fs.parse([]string{"--many", "a", "--last=1", "--quiet", "rest", "--many=b c", "--last", "2"}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(fs.Given(func(name string) bool { return name != "quiet" }), "|")
	if got != "--many=a|--many=b c|--last=2" {
		t.Errorf("without quiet %q", got)
	}
	if got = strings.Join(fs.Given(func(name string) bool { return name == "quiet" }), "|"); got != "--quiet" {
		t.Errorf("quiet alone %q", got)
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"doctor", "doctr", true}, {"doctor", "docctor", true}, {"symbolize", "symbolise", true}, {"where", "wehre", true},
		{"man", "an", true}, {"man", "mann", true}, {"dump-sym", "dumpsym", true}, {"cache", "acche", true},
		{"doctor", "dctr", false}, {"man", "nam", false}, {"where", "ewhre", false}, {"cache", "cachefs", false}, {"man", "", false},
		{"publish", "worker", false}, {"cache", "acceh", false},
	} {
		if near(c.a, c.b) != c.want || near(c.b, c.a) != c.want {
			t.Errorf("%s near %s: want %t", c.a, c.b, c.want)
		}
	}
}
