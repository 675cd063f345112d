package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// misplaced fails where a file that is not there has the name of a command, behind flags, or nearly so, as the first argument.
func (p *Program) misplaced(c *Command, flags *Flags, args []string) error {
	files, _ := flags.Split()
	if c.Name != "" || len(files) == 0 {
		return nil
	}
	name := files[0]
	commands := []string{"help"}
	for _, named := range p.named() {
		commands = append(commands, named.Name)
	}
	at := slices.IndexFunc(commands, func(command string) bool {
		return command == name || args[0] == name && near(command, name)
	})
	if at < 0 {
		return nil
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if commands[at] != name {
		return fmt.Errorf("%s: there is no such file or command; there is '%s %s'", name, p.Name, commands[at])
	}
	return fmt.Errorf("%s: there is no such file, and a command comes before all flags: '%s %s …'", name, p.Name, name)
}

// near reports whether one letter more, less, another or two in the other order make one word of another one.
func near(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
