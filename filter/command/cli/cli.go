// Package cli implements the command line: parsing, help and error messages are derived from a table of commands and their flags.
//
//	cli.go      the table, and which command a command line means
//	flags.go    the flags of one command, from many packages, their groups, and which of them go together
//	help.go     what --help and --help-all print, and the manual page
//	config.go   the file of flags, read before the command line; what --print-config prints of it
//	trust_*.go  whether another user may have written that file
//	shell.go    completions for shells: what each may offer, and their scripts, in shell/
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"qss-filter/sgr"
)

// Exit statuses.
const (
	// OK is the status of a run without errors.
	OK = 0
	// Failed says that an input could not be read or an output could not be written.
	Failed = 1
	// Usage says that the command line is wrong, or names something that cannot be used.
	Usage = 2
)

// Command is one command of a program.
type Command struct {
	// Name is the first argument; "" for the program without a command name.
	Name string
	// Args are the arguments after the flags, such as `FILE [0xADDRESS ...]`, and Note is a remark on them in help.
	Args, Note string
	// Least and Most are the minimum and maximum number of arguments; Most 0 is any number. Without Args there are none.
	Least, Most int
	// About describes the command in one line.
	About string
	// Common are the flags that --help shows; none means all.
	Common []string
	// Setup registers the flags and returns the function to run after parsing.
	Setup func(fs *Flags) Run
	// Rewrite, if not nil, changes the arguments before parsing.
	Rewrite func(args []string) []string
	// Config reports whether the configuration applies to a parsed command line; nil for always.
	Config func(fs *Flags) bool
}

// never is the Config of a command to which the configuration does not apply.
func never(*Flags) bool { return false }

// most returns the maximum number of arguments.
func (c *Command) most() int {
	switch {
	case c.Args == "":
		return 0
	case c.Most == 0:
		return math.MaxInt
	}
	return c.Most
}

// Run runs a command. The caller reports its error.
type Run func() (status int, err error)

// Program is a program with its commands.
type Program struct {
	Name string
	// Version returns the version as text.
	Version func() string
	// Commands are all of them; the first one is the program without a command's name.
	Commands []*Command
	// About describes it in a few words, Example is an example of its use, and Description has paragraphs; those that
	// begin with spaces are examples, line by line.
	About, Example, Description string
	// Uses are further usage lines, without its name.
	Uses []string
	// Exit explains its exit statuses.
	Exit string
	// Date returns the date of the version as 2006-01-02, or "" if it is not known.
	Date func() string
	// Environment are the environment variables that the program reads.
	Environment []Variable
	// Stdout is the destination of help and version.
	Stdout io.Writer
	// Named, if not nil, replaces the names of options with those of flags in an error of a command.
	Named func(err error) error
	// Theme, if not nil, returns the colors of help for the value of --color.
	Theme func(color string) *sgr.Theme
	// Warn is called if a configuration is not read.
	Warn func(message string)
}

// Variable is an environment variable, with a description in one line.
type Variable struct{ Name, About string }

// Run parses the arguments, without the program's name, and runs the command.
func (p *Program) Run(args []string) (status int, err error) {
	if len(args) > 0 && args[0] == "help" {
		if len(args) > 1 && !strings.HasPrefix(args[1], "-") && p.command(args[1:]) == nil {
			return p.misused(p.Commands[0], fmt.Errorf("help %s: there is no such command", args[1]))
		}
		args = append(args[1:len(args):len(args)], "--help")
	}
	c, first := p.Commands[0], args
	if named := p.command(args); named != nil {
		c, args = named, args[1:]
	}
	if c.Rewrite != nil {
		args = c.Rewrite(args)
	}
	fs, run := p.flags(c)
	if err := fs.parse(args); err != nil {
		return p.misused(c, err)
	}
	switch {
	case fs.is("help") || fs.is("help-all"):
		return p.print(p.help(c, fs, fs.is("help-all")))
	case fs.is("version"):
		return p.print(p.Name + " " + p.Version() + "\n")
	}
	if err := p.misplaced(c, fs, first); err != nil {
		return Usage, err
	}
	sources := fs.is("print-config")
	if n := fs.set.NArg(); !sources && (n < c.Least || n > c.most()) {
		return p.misused(c, fmt.Errorf("want: %s", p.use(c)))
	}
	file, err := p.configuration(c, fs)
	if err != nil {
		return Usage, err
	}
	fs, run, err = p.configured(c, file, fs, run, args)
	if wrong, ok := errors.AsType[*Misuse](err); ok {
		return p.misused(c, wrong.Err)
	} else if err != nil {
		return Usage, err
	}
	if sources {
		return p.print(sourcesText(file, fs, p.Environment))
	}
	status, err = run()
	if err != nil {
		if p.Named != nil {
			err = p.Named(err)
		}
		if placed, ok := fs.placed(err); ok {
			return status, placed
		}
	}
	if wrong, ok := errors.AsType[*Misuse](err); ok {
		return p.misused(c, wrong.Err)
	}
	return status, err
}

// configured parses the command line again after the configuration, without the flags of that which conflict with other flags.
func (p *Program) configured(c *Command, file configFile, fs *Flags, run Run, args []string) (*Flags, Run, error) {
	for settings, again := file.settings, len(file.settings) > 0; ; again = true {
		if again {
			fs, run = p.flags(c)
			if err := p.apply(file.path, settings, c, fs); err != nil {
				return nil, nil, err
			}
			if err := fs.parse(args); err != nil {
				return nil, nil, &Misuse{err}
			}
		}
		unfit, err := fs.misfits()
		switch {
		case fs.is("print-config"): // lists all flags
			return fs, run, nil
		case err != nil:
			return nil, nil, &Misuse{err}
		case len(unfit) == 0:
			return fs, run, nil
		}
		settings = slices.DeleteFunc(slices.Clone(settings), func(s setting) bool { return slices.Contains(unfit, s.name) })
	}
}

// command returns the command that the first argument names, or nil.
func (p *Program) command(args []string) *Command {
	if len(args) == 0 {
		return nil
	}
	named := p.named()
	i := slices.IndexFunc(named, func(c *Command) bool { return c.Name == args[0] })
	if i < 0 {
		return nil
	}
	return named[i]
}

// named returns all commands with a name, including those that every program has.
func (p *Program) named() []*Command {
	return append(slices.Clone(p.Commands[1:]), p.completion(), p.man())
}

// flags returns a command's flags, followed by those of every command.
func (p *Program) flags(c *Command) (fs *Flags, run Run) {
	fs = newFlags(c.Name)
	run = c.Setup(fs)
	fs.Group("Help and configuration")
	fs.set.Bool("no-config", false, "do not read the configuration")
	fs.set.Bool("print-config", false, "print where the value of each flag comes from")
	fs.set.BoolP("help", "h", false, "the most common flags")
	fs.set.Bool("help-all", false, "every flag")
	if c.Name == "" {
		fs.set.Bool("version", false, "print the version")
	}
	return fs, run
}

// Is reports whether a flag has a value.
func (v *values) Is(name, value string) bool {
	given := v.set.Lookup(name)
	return given != nil && given.Value.String() == value
}

// is reports whether a boolean flag is set.
func (v *values) is(name string) bool { return v.Is(name, "true") }

// Misuse is an error of Run that is caused by a wrong command line.
type Misuse struct{ Err error }

func (m *Misuse) Error() string { return m.Err.Error() }

// Unwrap returns the error.
func (m *Misuse) Unwrap() error { return m.Err }

// misused returns the error of a wrong command line, with a hint to help.
func (p *Program) misused(c *Command, err error) (status int, _ error) {
	name := p.Name
	if c.Name != "" {
		name += " " + c.Name
	}
	return Usage, fmt.Errorf("%w (try '%s --help')", explained(err), name)
}

// explained returns the error of a flag's value as --flag=value: reason.
func explained(err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		reason := bad.Unwrap()
		_, number := errors.AsType[*strconv.NumError](reason)
		if want := wanted[bad.GetFlag().Value.Type()]; want != nil && (number || reason.Error() == "parse error") { // of package flag
			reason = want
		}
		return fmt.Errorf("--%s=%s: %w", bad.GetFlag().Name, bad.GetValue(), reason)
	}
	return err
}

// wanted describes the valid values, by type.
var wanted = map[string]error{"bool": errors.New("want true or false"), "int": errors.New("want a number"), "int64": errors.New("want a number"),
	"duration": errors.New("want a time such as 5ms")}

func (p *Program) print(text string) (status int, err error) {
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		return Failed, fmt.Errorf("write standard output: %w", err)
	}
	return OK, nil
}

// misplaced returns an error if the name of a missing file is that of a command, which must come before flags, or if it is the first
// argument and nearly that of a command.
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

// near reports whether two words differ by one added, removed or changed letter, or by two swapped letters.
func near(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
