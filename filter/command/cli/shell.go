package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode"
)

// shells are the supported shells; each has a script in shell/.
var shells = []string{"bash", "zsh", "fish", "powershell"}

//go:embed shell
var shellScripts embed.FS

// completion returns the command that prints completions.
func (p *Program) completion() *Command {
	return &Command{Name: "completion", Args: strings.Join(shells, "|"), Least: 1, Most: 1, About: "prints completions for a shell",
		Config: never, Setup: func(fs *Flags) Run {
			return func() (int, error) {
				shell := fs.Args()[0]
				if !slices.Contains(shells, shell) {
					return Usage, &Misuse{fmt.Errorf("%s: want %s", shell, strings.Join(shells, ", "))}
				}
				script, err := p.script(shell)
				if err != nil {
					return Failed, err
				}
				return p.print(script)
			}
		}}
}

// script returns the script for a shell.
func (p *Program) script(shell string) (string, error) {
	name := shell + ".tmpl"
	t, err := template.New(name).Funcs(template.FuncMap{
		"single": single, "doubled": doubled, "colons": colons, "join": strings.Join, "names": offeredFlag.names, "zsh": zshFlag, "list": list,
	}).ParseFS(shellScripts, "shell/"+name)
	if err != nil {
		return "", fmt.Errorf("read the completions for %s: %w", shell, err)
	}
	commands := p.offered()
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"Program": p.Name, "Func": strings.ReplaceAll(p.Name, "-", "_"), "Main": commands[0],
		"Named": commands[1:], "All": commands})
	if err != nil {
		return "", fmt.Errorf("write the completions for %s: %w", shell, err)
	}
	return b.String(), nil
}

// single quotes a text for POSIX shells.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// doubled quotes a text for PowerShell, which doubles quotes, and accepts typographic quotes, too.
func doubled(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("'‘’‚‛", r) {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	return "'" + b.String() + "'"
}

// list returns words as a PowerShell list.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = doubled(w)
	}
	return "@(" + strings.Join(quoted, ", ") + ")"
}

// colons escapes the separators of a specification of zsh.
func colons(s string) string {
	return strings.NewReplacer(`\`, `\\`, `:`, `\:`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// zshFlag returns the specifications of a flag for _arguments.
func zshFlag(o offeredFlag) (specs []string) {
	names := o.names()
	for _, name := range names {
		spec := ""
		switch {
		case o.Repeated:
			spec = "*"
		case len(names) > 1:
			spec = "(" + strings.Join(names, " ") + ")"
		}
		spec += name
		long := strings.HasPrefix(name, "--")
		switch {
		case o.Value != "" && o.Optional && long:
			spec += "=-"
		case o.Value != "" && long:
			spec += "="
		}
		spec += "[" + colons(o.About) + "]"
		if o.Value != "" {
			spec += ":"
			if o.Optional {
				spec += ":"
			}
			spec += colons(o.Value) + ":" + zshAction(o.Kind, o.Words)
		}
		specs = append(specs, single(spec))
	}
	return specs
}

// zshAction returns the action of zsh that completes a value.
func zshAction(kind string, words []string) string {
	switch kind {
	case offerWords:
		return "(" + strings.Join(words, " ") + ")"
	case offerFiles:
		return "_files"
	case offerDirs:
		return "_files -/"
	case offerCommands:
		return "_command_names -e"
	}
	return ""
}

// What a shell offers for a value or an argument.
const (
	offerNothing  = ""
	offerText     = "text" // any text
	offerWords    = "words"
	offerFiles    = "files"
	offerDirs     = "dirs"
	offerCommands = "commands"
)

// offeredFlag is a flag in the templates.
type offeredFlag struct {
	Name, Short string // without hyphens; Name is "" if there is only a short one
	Value       string // the name of the value in help, "" for none
	Optional    bool   // the value is optional, and comes after =
	Repeated    bool
	Kind        string
	Words       []string
	About       string
}

// offeredCommand is a command in the templates.
type offeredCommand struct {
	Name, About string
	Flags       []offeredFlag
	// Words are the allowed arguments; Kind is the kind of other arguments.
	Words []string
	Kind  string
	// One is set if there is at most one argument.
	One bool
}

// offered returns the commands, the one without a name first.
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
	for _, t := range p.topics() {
		if !slices.Contains(help.Words, t.Name) {
			help.Words = append(help.Words, t.Name)
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

// kind returns the kind of a flag's value.
func (f *Flags) kind(name string, d description) string {
	switch {
	case d.value == "":
		return offerNothing
	case len(f.words[name]) > 0:
		return offerWords
	}
	return kindOf(d.value)
}

// kindOf returns the kind of a value whose name in help is, for example, FILE, DIR|FILE or TYPE=COMMAND.
func kindOf(name string) string {
	for part := range strings.SplitSeq(name, "|") {
		switch strings.TrimSuffix(part, "...") {
		case "FILE", "PATH", "INPUT", "LOG":
			return offerFiles
		case "DIR":
			return offerDirs
		case "PROGRAM", "COMMAND":
			return offerCommands
		}
	}
	return offerText
}

// arguments parses Command.Args: lowercase words are literal arguments.
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

// names returns a flag with its hyphens.
func (o offeredFlag) names() (all []string) {
	if o.Short != "" {
		all = append(all, "-"+o.Short)
	}
	if o.Name != "" {
		all = append(all, "--"+o.Name)
	}
	return all
}
