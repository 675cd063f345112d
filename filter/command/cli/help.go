package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"qss-filter/sgr"
)

// The minimum and maximum width of help, in columns. Without a terminal it is wide.
const (
	narrow = 80
	wide   = 100
)

// usageColumn is the maximum column of the descriptions of flags.
const usageColumn = 30

// width returns the width of help on out.
func width(out io.Writer) int {
	if out, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(out.Fd())); err == nil {
			return min(max(columns, narrow), wide)
		}
	}
	return wide
}

// use returns the usage line of a command.
func (p *Program) use(c *Command) string {
	words := []string{p.Name, c.Name, "[flags]", c.Args}
	if c.Name == "" {
		words = []string{p.Name, "[flags]", c.Args}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// helpPage builds the text of --help, or of --help-all.
type helpPage struct {
	strings.Builder
	p     *Program
	fs    *Flags
	all   bool
	width int
	theme *sgr.Theme
}

// help returns the text of --help, or of --help-all.
func (p *Program) help(c *Command, fs *Flags, all bool) string {
	h := &helpPage{p: p, fs: fs, all: all, width: width(p.Stdout)}
	if p.Theme != nil {
		mode := ""
		if one := fs.set.Lookup("color"); one != nil {
			mode = one.Value.String()
		}
		h.theme = p.Theme(mode)
	}
	h.head(c)
	h.flags(c.Common)
	if c.Name == "" {
		h.tail()
	}
	return h.String()
}

// head writes the usage and description of a command.
func (h *helpPage) head(c *Command) {
	h.WriteString(h.theme.Strong("Usage:") + " " + h.p.use(c))
	if at := len("Usage: " + h.p.use(c)); c.Note != "" && at+5+len(c.Note) <= h.width {
		h.WriteString("     " + c.Note)
	} else if c.Note != "" {
		h.WriteString("\n       " + c.Note)
	}
	h.WriteByte('\n')
	about := sentence(c.About)
	if c.Name == "" {
		if about = sentence(h.p.About); h.p.Example != "" {
			about = strings.TrimSuffix(about, ".") + ": " + h.p.Example
		}
		for _, use := range h.p.Uses {
			h.WriteString("       " + h.p.Name + " " + use + "\n")
		}
	}
	h.text("\n", about, 0)
}

// flags lists the flags, or only the common ones if there are any and not all are wanted.
func (h *helpPage) flags(common []string) {
	groups := h.fs.grouped()
	if len(common) > 0 && !h.all {
		groups = []group{{flags: h.fs.named(common)}}
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
		if g.title != "" {
			h.title(g.title)
		} else {
			h.WriteByte('\n')
		}
		for _, one := range g.flags {
			h.listed(described(one), h.fs.text(one), column)
		}
	}
}

// tail writes what follows the flags in the help of the program itself.
func (h *helpPage) tail() {
	h.title("Commands")
	for _, c := range h.p.named() {
		h.listed("  "+c.Name, c.About, 14)
	}
	h.listed("  help", helpAbout, 14)
	if h.all {
		h.title("Environment")
		for _, v := range h.p.Environment {
			h.listed("  "+v.Name, v.About, usageColumn)
		}
		h.title("Configuration")
		h.text("", "  "+configText(h.p.Name), 2)
	}
	h.text("\n", wordsText+" --help-all and the manual page say more.", 2)
	h.text("", "Exit status: "+h.p.Exit, 2)
}

// title starts a section.
func (h *helpPage) title(text string) { h.WriteString("\n" + h.theme.Strong(text+":") + "\n") }

// text writes wrapped text; all lines except the first one are indented.
func (h *helpPage) text(before, text string, indent int) {
	h.WriteString(before + wrapped(text, h.width, indent) + "\n")
}

const (
	helpAbout = "shows the flags of a command: help COMMAND"
	wordsText = "The first of a flag's words is its default."
)

// listed writes two columns. The second one begins at column, on a separate line if the first one is too long.
func (h *helpPage) listed(first, second string, column int) {
	name := strings.TrimLeft(first, " ")
	h.WriteString(first[:len(first)-len(name)] + h.theme.Place(name))
	if len(first)+2 > column {
		h.WriteString("\n" + strings.Repeat(" ", column))
	} else {
		h.WriteString(strings.Repeat(" ", column-len(first)))
	}
	text := wrapped(strings.Repeat(" ", column)+second, h.width, column)
	h.WriteString(text[min(column, len(text)):] + "\n")
}

// wrapped breaks a text at spaces so that no line is longer than width, if possible; all lines except the first one are indented.
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

// description describes a flag.
type description struct {
	value    string // the name of its value, "" for none
	optional bool   // the value may be left out
	usage    string
	standard string // the default to be shown, "" for none
}

// describe returns the description of a flag, with the name of the value from the backquotes in its usage.
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

// text returns the help text of a flag: its usage, without the name of the value at its beginning, and its default. If the default is
// the first of the allowed words, it is left out, as the end of help explains.
func (f *Flags) text(one *pflag.Flag) string {
	d := describe(one)
	usage := strings.TrimPrefix(d.usage, d.value+": ")
	if words := f.words[one.Name]; d.standard != "" && (len(words) == 0 || words[0] != d.standard) {
		return usage + " (default " + d.standard + ")"
	}
	return usage
}

// described returns a flag with the name of its value, for the first column of help.
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

// man returns the command that prints the manual page.
func (p *Program) man() *Command {
	return &Command{Name: "man", About: "prints the manual page: man | man -l -", Config: never, Setup: func(*Flags) Run {
		return func() (int, error) { return p.print(p.manual()) }
	}}
}

// manual returns the manual page, in the macros of man(7).
func (p *Program) manual() string {
	version, date := "", ""
	if p.Version != nil {
		version, _, _ = strings.Cut(p.Version(), " ")
	}
	if p.Date != nil {
		date = p.Date()
	}
	var m page
	fmt.Fprintf(&m, ".TH %q 1 %q %q %q\n", strings.ToUpper(p.Name), date, p.Name+" "+version, "User Commands")
	m.macro("SH", "NAME")
	m.text(p.Name + " - " + p.About)
	m.macro("SH", "SYNOPSIS")
	for _, use := range append([]string{"[flags] " + p.Commands[0].Args}, p.Uses...) {
		m.use(p.Name, use)
	}
	for _, c := range p.named() {
		m.use(p.Name+" "+c.Name, "[flags] "+c.Args)
	}
	if note := p.Commands[0].Note; note != "" {
		m.macro("PP")
		m.text(sentence(note))
	}
	m.macro("SH", "DESCRIPTION")
	m.paragraphs(p.Description)
	m.macro("SH", "FLAGS")
	m.text(wordsText)
	main, _ := p.flags(p.Commands[0])
	for _, g := range main.grouped() {
		if g.title != "" {
			m.macro("SS", g.title)
		}
		m.flags(main, g.flags)
	}
	m.macro("SH", "COMMANDS")
	for _, c := range p.named() {
		m.command(p, c, main)
	}
	m.macro("SH", "CONFIGURATION")
	m.text("The configuration is " + configText(p.Name) + ".")
	m.macro("PP")
	m.text("The value goes to the end of the line, without quotes, and nothing is expanded in it; a line that begins with # is a " +
		"comment. A flag that only another command has is for that one.")
	m.macro("SH", "ENVIRONMENT")
	for _, v := range p.Environment {
		m.macro("TP")
		m.macro("B", v.Name)
		m.text(sentence(v.About))
	}
	m.macro("SH", "EXIT STATUS")
	m.text(sentence(strings.TrimSuffix(p.Exit, ".")))
	return m.String()
}

// page builds a manual page.
type page struct{ strings.Builder }

// macro writes a line with a macro and its arguments.
func (m *page) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, arg := range args {
		m.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	m.WriteByte('\n')
}

// text writes text, in lines of the length that mandoc recommends.
func (m *page) text(s string) {
	for line := range strings.SplitSeq(wrapped(roff(s), narrow, 0), "\n") {
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		m.WriteString(line + "\n")
	}
}

// paragraphs writes paragraphs. Those that begin with spaces are not filled.
func (m *page) paragraphs(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			m.macro("PP")
		}
		if !strings.HasPrefix(part, " ") {
			for line := range strings.Lines(part) {
				m.text(strings.TrimSuffix(line, "\n"))
			}
			continue
		}
		m.WriteString(".RS\n.nf\n")
		for line := range strings.Lines(part) {
			m.text(strings.TrimSpace(line))
		}
		m.WriteString(".fi\n.RE\n")
	}
}

// use writes a usage line: the command's name, and its arguments.
func (m *page) use(name, args string) {
	m.macro("SY", name)
	m.text(strings.TrimSpace(args))
	m.macro("YS")
}

// flags writes a list of flags.
func (m *page) flags(fs *Flags, all []*pflag.Flag) {
	for _, one := range all {
		m.macro("TP")
		d := describe(one)
		short, value := "", ""
		if one.Shorthand != "" {
			short = `\fB` + roff("-"+one.Shorthand) + `\fR`
		}
		if d.value != "" {
			value = ` \fI` + roff(d.value) + `\fR`
			if d.optional {
				value = `[=\fI` + roff(d.value) + `\fR]`
			}
		}
		long := `\fB` + roff("--"+one.Name) + `\fR`
		switch {
		case one.Name == one.Shorthand:
			m.WriteString(short + value + "\n")
		case short != "":
			m.WriteString(short + ", " + long + value + "\n")
		default:
			m.WriteString(long + value + "\n")
		}
		m.text(sentence(fs.text(one)))
	}
}

// command writes the description of a command, and its flags that differ from those of the program without a command.
func (m *page) command(p *Program, c *Command, main *Flags) {
	m.macro("SS", strings.TrimSpace(p.Name+" "+c.Name+" [flags] "+c.Args))
	m.text(sentence(c.About))
	if c.Note != "" {
		m.text(sentence(c.Note))
	}
	fs, _ := p.flags(c)
	var same []string
	for _, g := range fs.grouped() {
		own := slices.DeleteFunc(g.flags, func(one *pflag.Flag) bool {
			theirs := main.set.Lookup(one.Name)
			repeated := theirs != nil && theirs.Usage == one.Usage && theirs.DefValue == one.DefValue
			if repeated {
				same = append(same, "--"+one.Name)
			}
			return repeated
		})
		m.flags(fs, own)
	}
	if len(same) > 0 {
		m.macro("PP")
		m.text(fmt.Sprintf("As above: %s.", strings.Join(same, ", ")))
	}
}

// roff escapes characters that have a meaning for the formatter, or that it would print as typographic signs, and those beyond ASCII.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		if named, ok := roffNames[r]; ok {
			b.WriteString(named)
		} else if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

var roffNames = map[rune]string{'\\': `\e`, '-': `\-`, '\'': `\(aq`, '`': `\(ga`, '^': `\(ha`, '~': `\(ti`}
