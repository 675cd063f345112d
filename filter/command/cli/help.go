package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"qss-filter/sgr"
)

// The minimum and maximum width of help, in columns. Without a terminal it is wide. The manual page is narrow.
const (
	narrowest = 40
	narrow    = 80
	wide      = 100
)

// usageColumn is the maximum column of the descriptions of flags.
const usageColumn = 30

// width returns the width of help on out.
func width(out io.Writer) int {
	if out, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(out.Fd())); err == nil {
			return min(max(columns, narrowest), wide)
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

// helpPage builds the text of -h, or of --help.
type helpPage struct {
	strings.Builder
	p     *Program
	fs    *Flags
	all   bool
	width int
	theme *sgr.Theme
}

// help returns the text of -h, or of --help, which has all flags.
func (p *Program) help(c *Command, fs *Flags, all bool) string {
	h := p.page(fs, all)
	h.head(c)
	if !all {
		h.examples(c)
	}
	h.flags(c.Common)
	if c.Name == "" && all {
		h.tail()
	} else if c.Name == "" {
		h.lists()
	}
	return h.String()
}

// page returns an empty page.
func (p *Program) page(fs *Flags, all bool) *helpPage {
	h := &helpPage{p: p, fs: fs, all: all, width: width(p.Stdout)}
	if p.Theme != nil {
		mode := ""
		if fs != nil && fs.set.Lookup("color") != nil {
			mode = fs.set.Lookup("color").Value.String()
		}
		h.theme = p.Theme(mode)
	}
	return h
}

// head writes the usage and description of a command.
func (h *helpPage) head(c *Command) {
	h.WriteString(h.theme.Strong("Usage:") + " " + h.p.use(c))
	if at := len("Usage: " + h.p.use(c)); c.Note != "" && at+5+len(c.Note) <= h.width {
		h.WriteString("     " + c.Note)
	} else if c.Note != "" {
		h.WriteString("\n" + wrapped("       "+c.Note, h.width, 7))
	}
	h.WriteByte('\n')
	about := sentence(c.About)
	if c.Name == "" {
		about = sentence(h.p.About)
		for _, use := range h.p.Uses {
			h.WriteString("       " + h.p.Name + " " + use + "\n")
		}
	}
	h.text("\n", about, 0)
}

// examples lists the examples of a command.
func (h *helpPage) examples(c *Command) {
	if len(c.Examples) == 0 {
		return
	}
	h.title("Examples")
	column := 0
	for _, e := range c.Examples {
		column = max(column, len(e[0])+4)
	}
	for _, e := range c.Examples {
		h.listed("  "+e[0], e[1], column)
	}
}

// flags lists the flags, or only the common ones if there are any and not all are wanted.
func (h *helpPage) flags(common []string) {
	groups := h.fs.grouped()
	seldom := 0
	if !h.fs.Is("help", allFlags) {
		for i := range groups {
			groups[i].flags = slices.DeleteFunc(groups[i].flags, func(one *pflag.Flag) bool {
				if h.fs.seldom[one.Name] {
					seldom++
				}
				return h.fs.seldom[one.Name]
			})
		}
		groups = slices.DeleteFunc(groups, func(g group) bool { return len(g.flags) == 0 })
	}
	if len(common) > 0 && !h.all {
		groups, seldom = []group{{title: "Flags", flags: h.fs.named(common)}}, 0
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
	if seldom > 0 {
		h.text("\n", fmt.Sprintf("--help=all shows %d more flags, which are seldom needed.", seldom), 0)
	}
}

// lists names the commands and the topics.
func (h *helpPage) lists() {
	var commands, topics []string
	for _, c := range h.p.named() {
		commands = append(commands, c.Name)
	}
	for _, t := range h.p.topics() {
		topics = append(topics, t.Name)
	}
	h.WriteByte('\n')
	h.listed("Commands:", strings.Join(append(commands, "help"), ", "), 11)
	if len(topics) > 0 {
		h.listed("Topics:", strings.Join(topics, ", "), 11)
	}
	h.WriteString("\n" + h.p.Name + " --help lists all flags; help COMMAND and help TOPIC say more.\n")
}

// tail writes what follows the flags in the help of the program itself.
func (h *helpPage) tail() {
	h.title("Commands")
	for _, c := range h.p.named() {
		h.listed("  "+c.Name, c.About, 14)
	}
	h.listed("  help", helpAbout, 14)
	h.topics()
	h.title("Environment")
	for _, v := range h.p.Environment {
		h.listed("  "+v.Name, v.About, usageColumn)
	}
	h.title("Configuration")
	h.text("", "  "+configText(h.p.Name), 2)
	h.text("\n", "Exit status: "+h.p.Exit, 2)
}

// topics lists the topics.
func (h *helpPage) topics() {
	topics := h.p.topics()
	if len(topics) == 0 {
		return
	}
	h.title("Topics (" + h.p.Name + " help TOPIC)")
	for _, t := range topics {
		h.listed("  "+t.Name, t.About, 20)
	}
}

// title starts a section.
func (h *helpPage) title(text string) { h.WriteString("\n" + h.theme.Strong(text+":") + "\n") }

// text writes wrapped text; all lines except the first one are indented.
func (h *helpPage) text(before, text string, indent int) {
	h.WriteString(before + wrapped(text, h.width, indent) + "\n")
}

const helpAbout = "shows the flags of a command, or a topic"

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
		if !strings.Contains(d.usage, "[default") {
			d.standard = one.DefValue
		}
	}
	return d
}

// text returns the help text of a flag: its usage, without the name of the value at its beginning, and its default.
func (f *Flags) text(one *pflag.Flag) string {
	d := describe(one)
	usage := strings.TrimPrefix(d.usage, d.value+": ")
	if d.standard != "" {
		return usage + " [default: " + d.standard + "]"
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
