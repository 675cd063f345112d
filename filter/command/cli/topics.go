package cli

import (
	"fmt"
	"strings"
)

// topics returns the pages of `help TOPIC`.
func (p *Program) topics() []Topic {
	if p.Topics == nil {
		return nil
	}
	return p.Topics()
}

// helpFor returns what help prints for its arguments: a page, or the command line that prints one.
func (p *Program) helpFor(args []string) (page string, command []string, err error) {
	if len(args) == 0 {
		return p.overview(), nil, nil
	}
	c := p.command(args)
	if strings.HasPrefix(args[0], "-") {
		return "", append(args[:len(args):len(args)], "--help"), nil
	}
	names := []string{}
	for _, t := range p.topics() {
		switch {
		case t.Name == args[0] && c != nil: // a command with a topic of its own
			fs, _ := p.flags(c)
			return t.Text + "\n" + p.help(c, fs, true), nil, nil
		case t.Name == args[0]:
			return t.Text, nil, nil
		}
		names = append(names, t.Name)
	}
	if c != nil {
		return "", append(args[:len(args):len(args)], "--help"), nil
	}
	for _, c := range p.named() {
		names = append(names, c.Name)
	}
	for _, name := range names {
		if near(name, args[0]) {
			return "", nil, fmt.Errorf("help %s: did you mean '%s help %s'?", args[0], p.Name, name)
		}
	}
	return "", nil, fmt.Errorf("help %s: there is no such command or topic; '%s help' lists them", args[0], p.Name)
}

// overview returns the commands and the topics.
func (p *Program) overview() string {
	fs, _ := p.flags(p.Commands[0])
	h := p.page(fs, false)
	h.text("", sentence(p.About), 0)
	h.title("Commands (" + p.Name + " help COMMAND)")
	for _, c := range p.named() {
		h.listed("  "+c.Name, c.About, 20)
	}
	h.topics()
	h.text("\n", p.Name+" -h is one page of help, "+p.Name+" --help lists all flags.", 0)
	return h.String()
}
