package cli

import (
	"strings"
	"unicode"
)

// What a shell offers for a value or an argument.
const (
	offerNothing  = ""
	offerText     = "text" // it cannot know
	offerWords    = "words"
	offerFiles    = "files"
	offerDirs     = "dirs"
	offerCommands = "commands"
)

// offeredFlag is a flag as a shell is told of it.
type offeredFlag struct {
	Name, Short string // without dashes; Name is "" where there is only the short one
	Value       string // what help calls the value; "" for none
	Optional    bool   // the value may be left out, and stands behind = else
	Repeated    bool
	Kind        string
	Words       []string
	About       string
}

// offeredCommand is a command as a shell is told of it.
type offeredCommand struct {
	Name, About string
	Flags       []offeredFlag
	// Words are those that its arguments may be; Kind is what they are else.
	Words []string
	Kind  string
	// One says that there is one argument at most.
	One bool
}

// offered returns the commands, that without a name first.
func (p *Program) offered() (all []offeredCommand) {
	help := offeredCommand{Name: "help", About: helpAbout, One: true}
	for _, c := range append(p.Commands[:1:1], p.named()...) {
		fs, _ := p.flags(c)
		words, kind := arguments(c.Args)
		all = append(all, offeredCommand{c.Name, c.About, fs.offered(), words, kind, c.Most == 1})
		if c.Name != "" {
			help.Words = append(help.Words, c.Name)
		}
	}
	return append(all, help)
}

// offered returns the flags of a command.
func (f *Flags) offered() (all []offeredFlag) {
	for _, g := range f.grouped() {
		for _, one := range g.flags {
			d := describe(one)
			o := offeredFlag{Name: one.Name, Short: one.Shorthand, Value: d.value, Optional: d.optional, Repeated: f.repeated[one.Name],
				Kind: f.kind(one.Name, d), Words: f.words[one.Name], About: strings.TrimPrefix(d.usage, d.value+": ")}
			if o.Name == o.Short {
				o.Name = ""
			}
			all = append(all, o)
		}
	}
	return all
}

// kind tells what is offered for a flag's value.
func (f *Flags) kind(name string, d description) string {
	switch {
	case d.value == "":
		return offerNothing
	case len(f.words[name]) > 0:
		return offerWords
	}
	return kindOf(d.value)
}

// kindOf tells what is offered for a value that help calls by a name such as FILE, DIR|FILE or TYPE=COMMAND.
func kindOf(name string) string {
	for part := range strings.SplitSeq(name, "|") {
		switch strings.TrimSuffix(part, "...") {
		case "FILE", "INPUT", "LOG":
			return offerFiles
		case "DIR":
			return offerDirs
		case "PROGRAM", "COMMAND":
			return offerCommands
		}
	}
	return offerText
}

// arguments reads what stands behind the flags: words in small letters are typed as they are.
func arguments(args string) (words []string, kind string) {
	for _, arg := range strings.Fields(strings.NewReplacer("[", " ", "]", " ", "...", " ").Replace(args)) {
		for part := range strings.SplitSeq(arg, "|") {
			if strings.IndexFunc(part, unicode.IsUpper) < 0 {
				words = append(words, part)
			} else if k := kindOf(part); k != offerText && kind == "" {
				kind = k
			}
		}
	}
	return words, kind
}

// names returns a flag as it is typed.
func (o offeredFlag) names() (all []string) {
	if o.Short != "" {
		all = append(all, "-"+o.Short)
	}
	if o.Name != "" {
		all = append(all, "--"+o.Name)
	}
	return all
}
