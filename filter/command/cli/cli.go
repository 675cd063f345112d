// Package cli implements the command line: parsing, help and error messages are derived from a table of commands and their flags.
//
//	cli.go      the table, and which command a command line means
//	flags.go    the flags of one command, from many packages, their groups, and which of them go together
//	help.go     what -h and --help print
//	topics.go   what help TOPIC prints, as Markdown or, on a terminal, as markdown.go renders it; pager.go shows that page by page
//	man.go      the manual page
//	suggest.go  what to use in place of a flag that does not exist
//	config.go   the file of flags, read before the command line; what --print-config prints of it
//	trust_*.go  whether another user may have written that file
//	shell.go    completions for shells: what each may offer, and their scripts, in shell/
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
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
	// Runs is set if a command may follow `--`. Its words are no arguments.
	Runs bool
	// About describes the command in one line.
	About string
	// Common are the flags that -h shows; none means all.
	Common []string
	// Examples are examples of its use for -h, each a command line and what it does.
	Examples [][2]string
	// Habits say of other commands' flags why this one has none of them, or what to use in their place.
	Habits map[string]string
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

// count returns how many arguments there are.
func (c *Command) count(fs *Flags) int {
	args := fs.Args()
	if c.Runs {
		args, _ = fs.Split()
	}
	return len(args)
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
	// About describes it in a few words, and Description has paragraphs; those that begin with spaces are examples, line by line.
	About, Description string
	// Uses are further usage lines, without its name.
	Uses []string
	// Exit explains its exit statuses.
	Exit string
	// Date returns the date of the version as 2006-01-02, or "" if it is not known.
	Date func() string
	// Letters are the one-letter names of flags, in all commands that have the flag.
	Letters map[string]string
	// Layout are the groups of flags in help.
	Layout []Group
	// Habits say what to use in place of flags that other programs have, by their names without hyphens.
	Habits map[string]string
	// Words say what to use in place of commands that other programs have.
	Words map[string]string
	// Topics returns the pages that `help TOPIC` prints; nil if there are none.
	Topics func() []Topic
	// Environment are the environment variables that the program reads, and Files the files.
	Environment, Files []Variable
	// SeeAlso are related manual pages, as name(section).
	SeeAlso []string
	// Stdout is the destination of help and version.
	Stdout io.Writer
	// Named, if not nil, replaces the names of options with those of flags in an error of a command.
	Named func(err error) error
	// Theme, if not nil, returns the colors of help for the value of --color.
	Theme func(color string) *sgr.Theme
	// Starts are flags that may start programs. The file of a project must not have them.
	Starts []string
	// Warn is called if a configuration is not read, or a part of it is left out.
	Warn   func(message string)
	warned map[string]bool
}

// Variable is an environment variable or a file, with a description in one line.
type Variable struct {
	Name, About string
	// Flag, if not empty, is a flag that the environment variable has a list of values for.
	Flag string
}

// Topic is a page of help: its name, a description in a few words, and its text in Markdown.
type Topic struct{ Name, About, Text string }

// Run parses the arguments, without the program's name, and runs the command.
func (p *Program) Run(args []string) (status int, err error) {
	if len(args) > 0 && args[0] == "help" {
		page, command, err := p.helpFor(args[1:])
		if err != nil || page != "" {
			return p.printed(page, err)
		}
		args = command
	}
	c, first := p.Commands[0], args
	if named := p.command(args); named != nil {
		c, args = named, args[1:]
	}
	if c.Rewrite != nil {
		args = c.Rewrite(args)
	}
	fs, run := p.flags(c)
	args = fs.joined(args)
	if err := cmp.Or(p.oneHyphen(fs, args), fs.parse(args)); err != nil {
		if wrong := p.mistaken(c, first, first); wrong != nil {
			return Usage, wrong
		}
		return p.misused(c, p.suggested(c, fs, err))
	}
	switch {
	case fs.asksHelp():
		if text := p.help(c, fs, !fs.is("h")); !fs.is("h") {
			return p.paged(text)
		} else {
			return p.print(text)
		}
	case fs.is("version"):
		return p.print(p.Name + " " + p.Version() + "\n")
	}
	files, _ := fs.Split()
	if err := p.mistaken(c, files, first); err != nil {
		return Usage, err
	}
	sources := fs.is("print-config")
	if n := c.count(fs); !sources && (n < c.Least || n > c.most()) {
		return p.misused(c, fmt.Errorf("want: %s", p.use(c)))
	}
	file := p.configuration(c, fs)
	settings := append(file.settings, p.variables()...)
	if c.Config != nil && !c.Config(fs) {
		settings = nil
	}
	fs, run, err = p.configured(c, fs, run, settings, args)
	if err != nil {
		return p.wrong(c, err)
	}
	if sources {
		return p.print(sourcesText(file, fs, p.Environment))
	}
	for {
		status, err = run()
		if err != nil && p.Named != nil {
			err = p.Named(err)
		}
		at, ok := fs.placed(err)
		if status != Usage || !ok {
			break
		}
		// What the configuration says does not work now: the run goes on without it.
		p.warnOnce(fmt.Sprintf("%s: %v %s", at.source, err, leftOutOf(at.source)))
		settings = slices.DeleteFunc(settings, func(s setting) bool { return s.source == at.source && s.value == at.value })
		fs, run = p.flags(c)
		if err := fs.parse(args); err != nil {
			return p.misused(c, err)
		}
		if fs, run, err = p.configured(c, fs, run, settings, args); err != nil {
			return p.wrong(c, err)
		}
	}
	if _, ok := errors.AsType[*Misuse](err); ok {
		return p.wrong(c, err)
	}
	return status, err
}

// wrong returns the error of a command line, with a hint to help if the command line alone is wrong.
func (p *Program) wrong(c *Command, err error) (status int, _ error) {
	if wrong, ok := errors.AsType[*Misuse](err); ok {
		return p.misused(c, wrong.Err)
	}
	return Usage, err
}

// configured parses the command line after the settings, without those of them which conflict with other flags. Without settings it
// only checks which flags go together.
func (p *Program) configured(c *Command, fs *Flags, run Run, settings []setting, args []string) (*Flags, Run, error) {
	for again := len(settings) > 0; ; again = true {
		if again {
			fs, run = p.flags(c)
			p.apply(settings, c, fs)
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
	fs = p.newFlags(c.Name)
	run = c.Setup(fs)
	fs.Group("Help and configuration")
	plain := !fs.set.HasFlags() // nothing to be configured
	fs.set.Bool("no-config", false, "do not read the configuration")
	fs.set.Bool("print-config", false, "print where the value of each flag comes from")
	if plain {
		fs.Hide("no-config", "print-config")
	}
	fs.set.BoolP("h", "h", false, "print one page of help")
	fs.set.Var(&helpValue{}, "help", "print the flags; --help=`all` prints those that are seldom needed, too")
	fs.Optional("help", "true")
	if c.Name == "" {
		fs.set.BoolP("version", p.Letters["version"], false, "print the version")
	}
	return fs, run
}

// Is reports whether a flag has a value.
func (v *values) Is(name, value string) bool {
	given := v.set.Lookup(name)
	return given != nil && given.Value.String() == value
}

// asksHelp reports whether a page of help is asked for.
func (v *values) asksHelp() bool { return v.is("h") || v.is("help") || v.Is("help", allFlags) }

// allFlags is the value of --help that asks for every flag.
const allFlags = "all"

// helpValue is the value of --help.
type helpValue struct{ text string }

func (h *helpValue) String() string { return h.text }
func (*helpValue) Type() string     { return "value" }

func (h *helpValue) Set(value string) error {
	switch value {
	case "true", allFlags:
		h.text = value
	case "false":
		h.text = ""
	default:
		return errors.New("want " + allFlags + ", or no value")
	}
	return nil
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
	if lacks, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Errorf("%s: want a value", dashed([]string{lacks.GetSpecifiedName()}, ""))
	}
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
		if failed, ok := errors.AsType[*fs.PathError](err); ok { // its path is /dev/stdout, whatever that is
			err = failed.Err
		}
		return Failed, fmt.Errorf("write standard output: %w", err)
	}
	return OK, nil
}

// printed prints a text unless there is an error.
func (p *Program) printed(text string, err error) (status int, _ error) {
	if err != nil {
		return p.misused(p.Commands[0], err)
	}
	return p.paged(text)
}

// mistaken returns an error if the first one of the files is missing and has the name of a command, which must come before flags; if
// it is the first argument and nearly that of a command, or what another program calls one; or if it is the name of a program to be run.
func (p *Program) mistaken(c *Command, files, args []string) error {
	if c.Name != "" || len(files) == 0 || strings.HasPrefix(files[0], "-") {
		return nil
	}
	name := files[0]
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	commands := []string{"help"}
	for _, named := range p.named() {
		commands = append(commands, named.Name)
	}
	at := slices.IndexFunc(commands, func(command string) bool {
		return command == name || args[0] == name && near(command, name)
	})
	switch {
	case at >= 0 && commands[at] == name:
		return fmt.Errorf("%s: there is no such file, and a command comes before all flags: '%s %s …'", name, p.Name, name)
	case at >= 0:
		return fmt.Errorf("%s: there is no such file or command; there is '%s %s'", name, p.Name, commands[at])
	case p.Words[name] != "" && args[0] == name:
		return fmt.Errorf("%s: there is no such file or command; %s", name, p.Words[name])
	}
	if _, err := exec.LookPath(name); err == nil && slices.Contains(p.Uses, runUse) {
		return fmt.Errorf("%s: there is no such file; to run that program, write '%s -- %s …'", name, p.Name, name)
	}
	return nil
}

// runUse is the use of a program that runs commands.
const runUse = "[flags] -- COMMAND [ARGUMENT ...]"
