package cli

import (
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"qss-filter/sgr"
)

// The width of help, in columns: that of the terminal between these two, and wide where there is none.
const (
	narrow = 80
	wide   = 100
)

// usageColumn is where the words about a flag begin, at the latest.
const usageColumn = 30

// width is how wide help may be.
func (p *Program) width() int {
	if out, ok := p.Stdout.(*os.File); ok {
		if columns, _, err := term.GetSize(int(out.Fd())); err == nil {
			return min(max(columns, narrow), wide)
		}
	}
	return wide
}

// use is a command's line of use.
func (p *Program) use(c *Command) string {
	words := []string{p.Name, c.Name, "[flags]", c.Args}
	if c.Name == "" {
		words = []string{p.Name, "[flags]", c.Args}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// help is the text of --help, or of --help-all.
func (p *Program) help(c *Command, fs *Flags, all bool) string {
	width, theme := p.width(), p.theme(fs)
	var b strings.Builder
	b.WriteString(theme.Strong("Usage:") + " " + p.use(c))
	if at := len("Usage: " + p.use(c)); c.Note != "" && at+5+len(c.Note) <= width {
		b.WriteString("     " + c.Note)
	} else if c.Note != "" {
		b.WriteString("\n       " + c.Note)
	}
	b.WriteByte('\n')
	about := sentence(c.About)
	if c.Name == "" {
		if about = sentence(p.About); p.Example != "" {
			about = strings.TrimSuffix(about, ".") + ": " + p.Example
		}
		for _, use := range p.Uses {
			b.WriteString("       " + p.Name + " " + use + "\n")
		}
	}
	b.WriteString("\n" + wrapped(about, width, 0) + "\n")
	groups := fs.grouped()
	if len(c.Common) > 0 && !all {
		groups = []group{{flags: fs.named(c.Common)}}
	} else if len(groups) == 1 {
		groups[0].title = ""
	}
	column := 0
	for _, g := range groups {
		for _, one := range g.flags {
			column = max(column, len(described(one))+2)
		}
	}
	column = min(column, usageColumn)
	for _, g := range groups {
		b.WriteByte('\n')
		if g.title != "" {
			b.WriteString(theme.Strong(g.title+":") + "\n")
		}
		for _, one := range g.flags {
			listed(&b, theme, described(one), fs.text(one), column, width)
		}
	}
	if c.Name == "" {
		p.more(&b, theme, all, width)
	}
	return b.String()
}

// theme returns the colors of help.
func (p *Program) theme(fs *Flags) *sgr.Theme {
	if p.Theme == nil {
		return nil
	}
	mode := ""
	if one := fs.set.Lookup("color"); one != nil {
		mode = one.Value.String()
	}
	return p.Theme(mode)
}

// more writes what comes below the flags of the program's own help.
func (p *Program) more(b *strings.Builder, theme *sgr.Theme, all bool, width int) {
	b.WriteString("\n" + theme.Strong("Commands:") + "\n")
	for _, c := range p.named() {
		listed(b, theme, "  "+c.Name, c.About, 14, width)
	}
	listed(b, theme, "  help", helpAbout, 14, width)
	if all {
		b.WriteString("\n" + theme.Strong("Environment:") + "\n")
		for _, v := range p.Environment {
			listed(b, theme, "  "+v.Name, v.About, usageColumn, width)
		}
		b.WriteString("\n" + theme.Strong("Configuration:") + "\n" + wrapped("  "+p.configText(), width, 2) + "\n")
	}
	b.WriteString("\n" + wrapped(wordsText+" --help-all and the manual page say more.", width, 2) + "\n")
	b.WriteString(wrapped("Exit status: "+p.Exit, width, 2) + "\n")
}

const (
	helpAbout = "tells the flags of a command: help COMMAND"
	wordsText = "The first of a flag's words is its default."
)

// listed writes words in two columns, the second one from a column on, and on a line of its own where the first one is too long.
func listed(b *strings.Builder, theme *sgr.Theme, first, second string, column, width int) {
	name := strings.TrimLeft(first, " ")
	b.WriteString(first[:len(first)-len(name)] + theme.Place(name))
	if len(first)+2 > column {
		b.WriteString("\n" + strings.Repeat(" ", column))
	} else {
		b.WriteString(strings.Repeat(" ", column-len(first)))
	}
	text := wrapped(strings.Repeat(" ", column)+second, width, column)
	b.WriteString(text[min(column, len(text)):] + "\n")
}

// wrapped breaks a text at spaces so that no line is longer than width, if that is possible; all but the first one are indented.
func wrapped(text string, width, indent int) string {
	var b strings.Builder
	for len(text) > width {
		at := strings.LastIndexByte(text[:width+1], ' ')
		if at <= indent || strings.TrimSpace(text[:at]) == "" {
			break
		}
		b.WriteString(strings.TrimRight(text[:at], " ") + "\n")
		text = strings.Repeat(" ", indent) + strings.TrimLeft(text[at:], " ")
	}
	return b.String() + text
}

// description is a flag in words.
type description struct {
	value    string // the name of its value; "" for none
	optional bool   // the value may be left out
	usage    string
	standard string // the value without the flag; "" for none worth telling
}

// describe takes the name of the value from the backquotes in the words of a flag.
func describe(one *pflag.Flag) (d description) {
	d.usage, d.optional = one.Usage, one.NoOptDefVal != ""
	if before, rest, ok := strings.Cut(one.Usage, "`"); ok {
		if name, after, ok := strings.Cut(rest, "`"); ok {
			d.value, d.usage = name, before+name+after
		}
	}
	if d.value == "" && !d.optional {
		d.value = "VALUE"
	}
	switch one.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		if !strings.Contains(d.usage, "(default") {
			d.standard = one.DefValue
		}
	}
	return d
}

// text is what help says of a flag: its words, without the value's name where they begin with that, and its default unless
// it is the first one of a few words, of which the epilogue says it.
func (f *Flags) text(one *pflag.Flag) string {
	d := describe(one)
	usage := strings.TrimPrefix(d.usage, d.value+": ")
	if words := f.words[one.Name]; d.standard != "" && (len(words) == 0 || words[0] != d.standard) {
		return usage + " (default " + d.standard + ")"
	}
	return usage
}

// described is a flag with its value, as the first column of help shows it.
func described(one *pflag.Flag) string {
	short := "      "
	if one.Shorthand != "" {
		short = "  -" + one.Shorthand + ", "
	}
	name := "--" + one.Name
	if one.Name == one.Shorthand {
		short, name = "  -"+one.Shorthand, ""
	}
	switch d := describe(one); {
	case d.value != "" && d.optional:
		return short + name + "[=" + d.value + "]"
	case d.value != "":
		return short + name + " " + d.value
	}
	return short + name
}

// sentence returns a line of the table as a sentence.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
