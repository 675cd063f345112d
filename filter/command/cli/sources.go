package cli

import (
	"fmt"
	"os"
	"strings"
)

// sources is the text of --print-config: each flag's value behind where it comes from, and the variables that count.
func (p *Program) sources(file configFile, fs *Flags) string {
	var rows [][2]string
	row := func(source, text string) { rows = append(rows, [2]string{source, text}) }
	for _, group := range fs.grouped() {
		for _, one := range group.flags {
			if !configurable(one.Name) {
				continue
			}
			for _, g := range fs.given[one.Name] {
				row(g.source, "--"+one.Name+"="+g.value)
			}
			if len(fs.given[one.Name]) == 0 {
				row("default", "--"+one.Name+"="+one.DefValue)
			}
		}
	}
	for _, v := range p.Environment {
		if value, set := os.LookupEnv(v.Name); set {
			row("environment", v.Name+"="+value)
		} else {
			row("not set", v.Name)
		}
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %s\n", file.state())
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, r[0], r[1])
	}
	return b.String()
}

// state says what became of a configuration.
func (f configFile) state() string {
	switch {
	case f.path == "":
		return "none"
	case f.missing:
		return f.path + " (there is none)"
	case f.distrusted != nil:
		return fmt.Sprintf("not read: %v", f.distrusted)
	}
	return f.path
}

// configurable reports whether a flag may stand in the configuration.
func configurable(name string) bool {
	switch name {
	case "help", "help-all", "version", "no-config", "print-config":
		return false
	}
	return true
}
