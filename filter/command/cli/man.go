package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

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
	m.examples(p)
	m.macro("SH", "FLAGS")
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
	m.text("The value goes to the end of the line, without quotes. A path may begin with ~ or with $NAME. A line that begins with # is a " +
		"comment. A flag that only another command has is for that one. A line that is wrong, or that does not work now, is left out " +
		"with a warning.")
	m.variables("FILES", p.Files)
	m.variables("ENVIRONMENT", p.Environment)
	m.macro("SH", "EXIT STATUS")
	m.text(p.Exit)
	if len(p.SeeAlso) > 0 {
		m.macro("SH", "SEE ALSO")
		for i, page := range p.SeeAlso {
			name, section, _ := strings.Cut(strings.TrimSuffix(page, ")"), "(")
			section = "(" + section + ")"
			if i+1 < len(p.SeeAlso) {
				section += ","
			}
			m.macro("BR", name, section)
		}
	}
	return m.String()
}

// examples writes the examples of the program and of its commands.
func (m *page) examples(p *Program) {
	first := true
	for _, c := range p.Commands {
		for _, e := range c.Examples {
			if first {
				m.macro("SH", "EXAMPLES")
			}
			first = false
			m.macro("TP")
			m.macro("B", e[0])
			m.text(sentence(e[1]))
		}
	}
}

// variables writes a section about variables or files.
func (m *page) variables(title string, all []Variable) {
	if len(all) == 0 {
		return
	}
	m.macro("SH", title)
	for _, v := range all {
		m.macro("TP")
		m.macro("B", v.Name)
		m.text(sentence(v.About))
	}
}

// sentence returns the help text of a flag as a sentence. A first word that is one of the flag's values keeps its case.
func (f *Flags) sentence(one *pflag.Flag) string {
	text := f.text(one)
	if first, _, _ := strings.Cut(text, " "); slices.Contains(f.words[one.Name], strings.TrimRight(first, ",:;")) {
		return text + "."
	}
	return sentence(text)
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
		m.text(fs.sentence(one))
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
				same = append(same, dashed([]string{one.Name}, ""))
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
