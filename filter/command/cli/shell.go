package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// shells are those with completions; each has a script in shell/.
var shells = []string{"bash", "zsh", "fish", "powershell"}

//go:embed shell
var shellScripts embed.FS

// completion is the command that prints completions.
func (p *Program) completion() *Command {
	return &Command{Name: "completion", Args: strings.Join(shells, "|"), Least: 1, Most: 1, About: "prints completions for a shell",
		Config: Never, Setup: func(fs *Flags) Run {
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

// script is the script of a shell.
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

// single quotes a text for a POSIX shell.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// doubled quotes a text for PowerShell, which doubles quotes, and takes the typographic ones for quotes, too.
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

// list gives words as a list of PowerShell.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = doubled(w)
	}
	return "@(" + strings.Join(quoted, ", ") + ")"
}

// colons escapes what zsh takes for the end of a part of a specification.
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

// zshAction is what zsh does to complete a value.
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
