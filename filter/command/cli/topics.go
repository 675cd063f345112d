package cli

import (
	"fmt"
	"regexp"
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
	args = append([]string{strings.ToLower(args[0])}, args[1:]...)
	c := p.command(args)
	if strings.HasPrefix(args[0], "-") {
		return "", append(args[:len(args):len(args)], "--help"), nil
	}
	names := []string{}
	for _, t := range p.topics() {
		switch {
		case t.Name == args[0] && c != nil: // a command with a topic of its own
			fs, _ := p.flags(c)
			return p.rendered(t.Text) + "\n" + p.help(c, fs, true), nil, nil
		case t.Name == args[0]:
			return p.rendered(t.Text), nil, nil
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
	if t := p.about(args[0]); t != nil {
		return p.rendered(t.Text), nil, nil
	}
	return "", nil, fmt.Errorf("help %s: there is no such command or topic; '%s help' lists them", args[0], p.Name)
}

// rendered returns the text of a topic as standard output shows it: a terminal without the marks of Markdown.
func (p *Program) rendered(text string) string {
	if _, terminal := p.terminal(); !terminal {
		return text
	}
	return rendered(text, width(p.Stdout), p.page(nil, false).theme)
}

// leastWord is the length of the shortest word that topics are searched for.
const leastWord = 3

// about returns the topic that says most about a word: in which it stands most often for its length, where one in a title is as good as many. It is nil if none has it.
func (p *Program) about(word string) *Topic {
	if word = strings.ToLower(strings.TrimLeft(word, "-")); len(word) < leastWord {
		return nil
	}
	const inTitle = 20 // as much as so many in a text
	as := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimSuffix(word, "s")) + `(?:s|es|d|ed|ing)?\b`)
	var best *Topic
	most := 0.0
	for _, t := range p.topics() {
		score := 0
		for line := range strings.Lines(strings.ToLower(t.Text)) {
			n := len(as.FindAllStringIndex(line, -1))
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") {
				n *= inTitle
			}
			score += n
		}
		if often := float64(score) / float64(len(t.Text)); often > most {
			best, most = &t, often
		}
	}
	return best
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
