package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// man is the command that prints the manual page.
func (p *Program) man() *Command {
	return &Command{Name: "man", About: "prints the manual page: man | man -l -", Config: Never, Setup: func(*Flags) Run {
		return func() (int, error) { return p.print(p.manual()) }
	}}
}

// manual is the manual page, in the macros of man(7).
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

// page is a page that is written.
type page struct{ strings.Builder }

// macro writes a line with a macro and its arguments.
func (m *page) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, arg := range args {
		m.WriteString(` "` + strings.ReplaceAll(roff(arg), `"`, `\(dq`) + `"`)
	}
	m.WriteByte('\n')
}

// text writes text, in lines as long as mandoc likes them.
func (m *page) text(s string) {
	for line := range strings.SplitSeq(wrapped(roff(s), narrow, 0), "\n") {
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		m.WriteString(line + "\n")
	}
}

// paragraphs writes paragraphs, of which those that begin with spaces are kept line by line.
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

// use writes a line of use: the command's name, and what follows it.
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

// command writes of a command what it does, and the flags that are not like those of the program without a command.
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

// roff escapes what the formatter would read in another way, or print as a typographic sign; it reads ASCII only.
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
