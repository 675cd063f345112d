package cli

import (
	"fmt"
	"strings"
)

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
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s", p.use(c))
	if c.Note != "" {
		fmt.Fprintf(&b, "     %s", c.Note)
	}
	b.WriteByte('\n')
	shown := fs
	if len(c.Common) > 0 && !all {
		shown = newFlags("")
		for _, name := range c.Common {
			shown.set.AddFlag(fs.set.Lookup(name))
		}
	}
	if c.Name != "" {
		fmt.Fprintf(&b, "\n%s\n\nFlags:\n%s", sentence(c.About), shown.set.FlagUsages())
		return b.String()
	}
	fmt.Fprintf(&b, "%s\n%s\nCommands:\n", p.About, shown.set.FlagUsages())
	for _, c := range p.Commands[1:] {
		fmt.Fprintf(&b, "  %-11s %s\n", c.Name, c.About)
	}
	fmt.Fprintf(&b, "  %-11s %s\n", "help", "tells the flags of a command: help COMMAND")
	b.WriteString(p.Epilogue)
	return b.String()
}

// sentence gives a line of the table as a sentence.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
